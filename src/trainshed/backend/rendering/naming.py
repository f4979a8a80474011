"""Names of what a request makes: `user123-job-20251105130000`, and that with `-train-script` behind it."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime

MOST_USER = 63
MOST_NAME = 44
"""Of 63 characters a pod's name may have, so that `-launcher-0-0-x7k2p` still fits behind it."""
_MOST_SLUG = MOST_NAME - len("-job-20251105130000") - len("-99")


def job_name(user_id: str, moment: datetime, attempt: int = 1) -> str:
    """The name of a user's job; the second one of the same second is attempt 2."""
    name = f"{_slug(user_id)}-job-{moment:%Y%m%d%H%M%S}"
    return name if attempt == 1 else f"{name}-{attempt}"


def code_name(job: str) -> str:
    """Of the ConfigMap with the job's code."""
    return f"{job}-train-script"


def _slug(user_id: str) -> str:
    """The user as the beginning of a name: itself where possible, else a likeness with a mark of its own."""
    plain = re.sub("[^a-z0-9]+", "-", user_id.lower()).strip("-")
    plain = plain if plain[:1].isalpha() else f"u-{plain}".rstrip("-")
    if plain == user_id and len(plain) <= _MOST_SLUG:
        return plain
    mark = hashlib.sha256(user_id.encode()).hexdigest()[:5]
    return f"{plain[: _MOST_SLUG - 6].rstrip('-')}-{mark}"
