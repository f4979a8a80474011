"""`pods/exec`, `attach` and `portforward`: what a cluster checks before it opens a stream into a pod.

kubectl asks by WebSocket first and, when that is refused, by a POST that would switch to SPDY; what that one
is told is what its user sees, so both go through the same checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from trainshed.apiserver import podchannels, podports
from trainshed.apiserver.access.audit import Audit
from trainshed.apiserver.agents import Agents, place_of
from trainshed.apiserver.answers import Upgrade
from trainshed.apiserver.auditing import entry
from trainshed.apiserver.call import Call
from trainshed.apiserver.podlogs import chosen_container
from trainshed.kube import faults, streaming
from trainshed.kube.objects import Object, dig

PARTS = ("attach", "exec", "portforward")


@dataclass(frozen=True, slots=True)
class PodStreams:
    agents: Agents
    audit: Audit

    async def open(self, call: Call) -> Upgrade:
        """The switch to a stream into a pod."""
        if call.request.method == "GET":
            # Whoever may only read must not run commands; upstream asks the same since 1.35.
            call.require("create")
        pod = _pod(call)
        if call.target.subresource == "portforward":
            return await self._forward(call, pod)
        return await self._run(call, pod)

    async def _forward(self, call: Call, pod: Object) -> Upgrade:
        _check_assigned(pod, call.target.name)
        upgrade = podports.negotiated(call.request, podports.Ports(self.agents, pod))
        await self.agents.check(pod)
        self._record(call, ())
        return upgrade

    async def _run(self, call: Call, pod: Object) -> Upgrade:
        request = _request(call, pod)
        _check_assigned(pod, call.target.name)
        _check(request)
        opening = podchannels.negotiated(call.request, request)
        link = await self.agents.ask(pod, request)
        self._record(call, request.command if isinstance(request, streaming.Exec) else ())
        return opening(link)

    def _record(self, call: Call, command: Sequence[str]) -> None:
        """Who is about to do what in which pod, at once: the stream may go on for days."""
        request = call.request
        self.audit.record(
            entry(
                call.user,
                call.target,
                time=datetime.now(UTC),
                verb=request.verb,
                path=request.path,
                code=101,
                latency_ms=0.0,
                user_agent=request.user_agent,
                command=command,
            )
        )


def _pod(call: Call) -> Object:
    pod = call.state.get("pods", call.namespace, call.target.name)
    if pod is None:
        raise call.not_found()
    return pod


def _check_assigned(pod: Object, name: str) -> None:
    if not dig(pod, "spec", "nodeName"):
        raise faults.BadRequest(f"pod {name} does not have a host assigned")


def _request(call: Call, pod: Object) -> streaming.Exec | streaming.Attach:
    query, is_exec = call.request.query, call.target.subresource == "exec"
    container = chosen_container(pod, query.get("container"), call.target.name)
    tty, stdin = query.flag("tty"), query.flag("stdin")
    stdout = query.flag("stdout") if is_exec or query.has("stdout") else True
    stderr = query.flag("stderr") if is_exec or query.has("stderr") else True
    stderr = stderr and not tty
    place = place_of(pod)
    if not is_exec:
        return streaming.Attach(*place, container, stdin, stdout, stderr, tty)
    command = tuple(query.all("command"))
    return streaming.Exec(*place, container, command, stdin, stdout, stderr, tty)


def _check(request: streaming.Exec | streaming.Attach) -> None:
    if not (request.stdin or request.stdout or request.stderr):
        raise faults.BadRequest("you must specify at least 1 of stdin, stdout, stderr")
    if isinstance(request, streaming.Exec) and not any(request.command):
        raise faults.BadRequest("you must specify a command to run")
