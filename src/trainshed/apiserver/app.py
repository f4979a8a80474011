"""The application: who asks, may they, which handler, and every way it can end as a Status."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

from trainshed.apiserver import answers
from trainshed.apiserver.access.audit import Audit, sanitized
from trainshed.apiserver.access.authentication import Authenticator
from trainshed.apiserver.access.identity import ANONYMOUS_USER, PUBLIC_PATHS, Attributes, Identity, forbidden
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.answers import Answer, Pending, Result, Upgrade
from trainshed.apiserver.auditing import entry
from trainshed.apiserver.call import Call
from trainshed.apiserver.documents import Documents
from trainshed.apiserver.http.connection import Respond
from trainshed.apiserver.http.incoming import Incoming
from trainshed.apiserver.requests import Request, Target, parse_target
from trainshed.apiserver.routes import NOT_FOUND, Handled, Handler, Place, Verb, handler_for, verb_of
from trainshed.apiserver.state import State
from trainshed.kube import faults
from trainshed.store.records import Record

log = logging.getLogger(__name__)

_NOWHERE = Target("", "")
_NOBODY = Identity(ANONYMOUS_USER)
_WITH_BODY = frozenset(("POST", "PUT", "PATCH", "DELETE"))


@dataclass(slots=True)
class Application:
    state: State
    authenticator: Authenticator
    authorizer: Authorizer
    audit: Audit
    documents: Documents
    handlers: Mapping[Place, Handler]
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Requests whose handlers wait for something."""

    def handle(self, request: Incoming, respond: Respond) -> None:
        """Answer: at once where nothing has to be waited for, which costs no task."""
        try:
            handled = self._begun(request)
        except Exception as error:
            handled = _failure(request, error)
        if isinstance(handled, Answer):
            respond(_complete(request, handled))
        elif isinstance(handled, Pending):
            handled.future.add_done_callback(partial(_settle, request, handled, respond))
        elif inspect.isawaitable(handled):
            self._start(self._wait(request, handled, respond))
        else:
            respond(_complete(request, handled))

    def _begun(self, request: Incoming) -> Handled:
        path = request.path.rstrip("/") or "/"
        request.user = user = self.authenticator.identify(request.raw_headers)
        if path in PUBLIC_PATHS or path.startswith(("/livez/", "/readyz/", "/healthz/")):
            return self._document(request, path)
        if user is None:
            raise faults.Unauthorized("Unauthorized")
        target = parse_target(path)
        if target is None or not target.plural:
            self._authorize(Attributes(user, request.method.lower(), path=path))
            return self._document(request, path)
        request.target = target
        return self._resource(request, user, target)

    def _resource(self, request: Incoming, user: Identity, target: Target) -> Handled:
        kind = self.state.registry.find(target.group, target.version, target.plural)
        request.verb = verb = verb_of(request, target)
        self._authorize(_attributes(user, verb, request, target))
        if kind is None or (target.namespace and not kind.namespaced and kind.plural != "namespaces"):
            raise faults.NotFound(NOT_FOUND)
        handle = handler_for(kind, target, verb, self.handlers)
        call = Call(self.state, request, target, kind, user, self._authorize)
        if request.is_whole or request.method not in _WITH_BODY:
            return handle(call)
        return self._with_body(request, user, target)

    async def _with_body(self, request: Incoming, user: Identity, target: Target) -> Result:
        """Decide anew once the body is there: what is served, and to whom, may have changed meanwhile."""
        await request.arrive()
        handled = self._resource(request, user, target)
        if isinstance(handled, Pending):
            return handled.finish(await handled.future)
        return await handled if inspect.isawaitable(handled) else handled

    def _authorize(self, attributes: Attributes) -> None:
        decision = self.authorizer.decide(attributes)
        if not decision.allowed:
            raise forbidden(attributes, decision.reason)

    def _document(self, request: Request, path: str) -> Answer:
        if request.method not in ("GET", "HEAD"):
            raise faults.MethodNotAllowed("the server does not allow this method on the requested resource")
        found = self.documents.find(path, request)
        if found is None:
            raise faults.NotFound(NOT_FOUND)
        return found

    # --- waiting --------------------------------------------------------------------------------------------

    def _start(self, waiting: Awaitable[None]) -> None:
        task = asyncio.ensure_future(waiting)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _wait(self, request: Incoming, handled: Awaitable[Result], respond: Respond) -> None:
        try:
            result = await handled
        except Exception as error:
            result = _failure(request, error)
        except asyncio.CancelledError:
            respond(_failure(request, faults.Unavailable("the server is shutting down")))
            raise
        respond(_complete(request, result))

    async def finish(self, seconds: float) -> None:
        """Let requests whose clients are gone come to their end, for a while."""
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=seconds)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    # --- afterwards -----------------------------------------------------------------------------------------

    def note(self, request: Incoming, source: str, code: int) -> None:
        target, user, query = request.target or _NOWHERE, request.user or _NOBODY, request.raw_query
        self.audit.record(
            entry(
                user,
                target,
                time=datetime.fromtimestamp(request.began, UTC),
                verb=request.verb or request.method.lower(),
                path=sanitized(request.path, query) if query else request.path,
                code=code,
                latency_ms=round((time.time() - request.began) * 1000, 3),
                user_agent=request.user_agent,
                source=source,
            )
        )


def _settle(request: Incoming, pending: Pending, respond: Respond, done: asyncio.Future[Record]) -> None:
    try:
        answer = pending.finish(done.result())
    except Exception as error:
        answer = _failure(request, error)
    respond(_complete(request, answer))


def _complete(request: Incoming, result: Result) -> Result:
    """The result with what was noticed on the way; a WebSocket is not answered with something else."""
    if isinstance(result, Upgrade):
        return result
    if request.upgrade == b"websocket" and not (isinstance(result, Answer) and result.status >= 400):
        return answers.of_fault(faults.BadRequest("this resource does not speak the WebSocket protocol"))
    if request.warnings:
        result.headers = [*result.headers, *answers.warning_headers(request.warnings)]
    return result


def _failure(request: Request, error: Exception) -> Answer:
    if isinstance(error, faults.Fault):
        return answers.of_fault(error)
    log.error("unexpected failure in %s %s", request.method, request.path, exc_info=error)
    return answers.of_fault(faults.InternalError(f"Internal error occurred: {type(error).__name__}: {error}"))


def _attributes(user: Identity, verb: Verb, request: Request, target: Target) -> Attributes:
    name = target.name
    if not name and verb in ("list", "watch", "deletecollection"):
        # A list of one named object is a question about that object, for rules with resourceNames.
        selector = request.query.get("fieldSelector")
        if selector.startswith("metadata.name=") and "," not in selector.rstrip(","):
            name = selector.removeprefix("metadata.name=").lstrip("=").rstrip(",")
    namespace = target.namespace
    return Attributes(
        user, verb, target.group, target.version, target.plural, target.subresource, namespace, name
    )
