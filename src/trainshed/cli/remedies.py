"""What to do about a job that waits for what this machine has not, and will not have by waiting."""

from __future__ import annotations

import re

from trainshed.cli import invocation
from trainshed.cli.target import Target

_LACKING = re.compile("waiting: (needs |no node (has|fits its node))")
"""Words of the scheduler."""


def is_lacking(verdict: str) -> bool:
    return _LACKING.match(verdict) is not None


def known(where: Target) -> str:
    """Empty before a cluster, which has nothing of the kind."""
    return f"run it here all the same with {invocation.command('up', '--relax')}" if where.is_embedded else ""
