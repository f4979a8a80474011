"""Who did what to which object, as the audit log writes it."""

from __future__ import annotations

from datetime import datetime

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
    command: tuple[str, ...] = (),
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
        command=command,
    )
