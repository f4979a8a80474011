"""What every answer must be, whatever was asked."""

from __future__ import annotations

import json

import yaml

from tests.server.mutations import Sent
from tests.server.wire import Reply, Wire


def complaint(sent: Sent, reply: Reply) -> str:
    """What is wrong with an answer; empty for a sound one."""
    if reply.code >= 500 and not _is_documented(reply):
        return "a failure of the server"
    if sent.method == "HEAD":
        return "a body after HEAD" if reply.body else ""
    if reply.code >= 400:
        return _status_complaint(reply)
    if reply.headers.get("transfer-encoding") == "chunked":
        return ""
    return _success_complaint(sent, reply)


def _is_documented(reply: Reply) -> bool:
    """A revision that does not exist yet is a 504, and a pod on a node without an agent a 503."""
    if reply.code == 504:
        return not reply.body or "Too large resource version" in reply.text
    return reply.code == 503 and (not reply.body or "no agent answers" in reply.text)


def _status_complaint(reply: Reply) -> str:
    if reply.type != "application/json":
        return f"an error of type {reply.type}"
    status = reply.object()
    found = (status["kind"], status["apiVersion"], status["status"], status["code"])
    if found != ("Status", "v1", "Failure", reply.code):
        return "a malformed Status"
    return "" if status["message"] else "a Status that does not say why"


def _success_complaint(sent: Sent, reply: Reply) -> str:
    if reply.type == "application/yaml":
        return "" if isinstance(yaml.load(reply.body, yaml.CSafeLoader), dict) else "YAML that is no object"
    if reply.type == "application/json":
        return "" if isinstance(json.loads(reply.body), dict) else "JSON that is no object"
    documents = ("/livez", "/readyz", "/healthz", "/openapi")
    return "" if sent.target.startswith(documents) else f"an answer of type {reply.type}"


def sound(wire: Wire, sent: Sent, headers: dict[str, str] | None = None) -> Reply:
    """The answer, which must be a sound one."""
    reply = wire.ask(sent.method, sent.target, sent.body, sent.type, headers, whole=False)
    wrong = complaint(sent, reply)
    assert not wrong, f"{wrong}: {reply.code} {reply.text[:500]}\n{sent}"
    return reply
