"""Names of namespaces are used again: what is recorded of one that is gone is not for its namesake."""

from __future__ import annotations

import logging

from trainshed.client.client import Client
from trainshed.client.requests import Resource
from trainshed.kube import faults
from trainshed.kube.objects import text

log = logging.getLogger(__name__)

_NEVER = "9999-12-31T23:59:59Z"
_NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)


async def born(client: Client, namespace: str) -> str:
    """Since when a namespace is there; empty where it is not, and then only who sees all may ask about it."""
    try:
        return text(await client.find(_NAMESPACES, namespace), "metadata", "creationTimestamp")
    except faults.Forbidden as refused:
        log.error("the history stays hidden: the service may not look at namespaces (%s)", refused)
        return _NEVER
