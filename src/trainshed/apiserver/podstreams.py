"""`pods/exec`, `attach` and `portforward`: what a cluster checks before it opens a stream into a pod.

kubectl asks by WebSocket first and shows the answer to a POST of the same address, so both verbs come here.
"""

from __future__ import annotations

from typing import NoReturn

from trainshed.apiserver.call import Call
from trainshed.apiserver.podlogs import chosen_container
from trainshed.kube import faults
from trainshed.kube.objects import dig

PARTS = ("attach", "exec", "portforward")


def open_stream(call: Call) -> NoReturn:
    """Say why no stream can be opened: streams are the node agents', and none has joined."""
    name = call.target.name
    pod = call.state.get("pods", call.namespace, name)
    if pod is None:
        raise call.not_found()
    if call.target.subresource != "portforward":
        chosen_container(pod, call.request.query.get("container"), name)
    node = dig(pod, "spec", "nodeName")
    if not node:
        raise faults.BadRequest(f"pod {name} does not have a host assigned")
    raise faults.Unavailable(f"error dialing backend: no agent answers for node {node}")
