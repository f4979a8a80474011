"""Who did what to which object, as the audit log writes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePosixPath

from trainshed.apiserver.access.audit import Entry
from trainshed.apiserver.access.identity import Identity
from trainshed.apiserver.requests import Target


def entry(
    user: Identity,
    target: Target,
    *,
    time: datetime,
    verb: str,
    path: str,
    code: int,
    latency_ms: float,
    user_agent: str = "",
    source: str = "",
    command: Sequence[str] = (),
) -> Entry:
    return Entry(
        time=time,
        verb=verb,
        path=path,
        code=code,
        latency_ms=latency_ms,
        user=user.username,
        groups=user.groups,
        impersonator=user.impersonator,
        group=target.group,
        version=target.version,
        resource=target.plural,
        namespace=target.namespace,
        name=target.name,
        subresource=target.subresource,
        user_agent=user_agent,
        source=source,
        program=_program(command),
        arguments=max(len(command) - 1, 0),
    )


def _program(command: Sequence[str]) -> str:
    """The name alone, also of a whole line or an assignment that somebody took for a program."""
    if not command:
        return ""
    word, *_ = re.split(r"[\s=]", command[0], maxsplit=1)
    return PurePosixPath(word).name[:128]
