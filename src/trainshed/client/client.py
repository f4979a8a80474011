"""The client: verbs of the Kubernetes API as methods over plain objects.

    async with Client.connect(kubeconfig.load()) as client:
        await client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})

A kind is a `Resource` or the words kubectl takes (`jobs`, `cm`, `trainjobs.trainer.kubeflow.org`).
`namespace=None` is the namespace of the kubeconfig's context, `ALL` is all of them (lists and watches only).
Refusals are raised as `kube.faults.Fault`, everything that prevented an answer as `failures.Failure`.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Self

from trainshed.client import answers, glimpses, requests, retries
from trainshed.client.answers import Answer
from trainshed.client.discovery import Discovery
from trainshed.client.failures import ConnectionFailure
from trainshed.client.glimpses import Held
from trainshed.client.kubeconfig import Config
from trainshed.client.requests import (
    EVERYTHING,
    PLAIN,
    PLAIN_DELETE,
    Delete,
    LogOptions,
    PatchType,
    Request,
    Resource,
    Where,
    Write,
)
from trainshed.client.retries import Patience
from trainshed.client.transport import ANSWER_SECONDS, AbstractStream, HttpTransport, Transport
from trainshed.client.watch import Watch
from trainshed.kube import faults
from trainshed.kube.objects import JSON, Object, dig, text

log = logging.getLogger(__name__)

PAGE = 500
Objects = list[Object]


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a list, as of one revision; every item carries its apiVersion and kind."""

    items: Objects
    revision: str


def _log_warning(text: str) -> None:
    log.warning("%s", text)


class Client:
    def __init__(
        self,
        transport: Transport,
        *,
        namespace: str = "default",
        manager: str = "trainshed",
        patience: Patience | None = None,
        on_warning: Callable[[str], None] = _log_warning,
    ) -> None:
        self.namespace, self.manager = namespace, manager
        self._usual = Write(manager=manager)
        self.discovery = Discovery(self.send)
        self._transport, self._patience, self._on_warning = transport, patience or Patience(), on_warning
        self._held: Held | None = None

    @classmethod
    def connect(
        cls,
        config: Config,
        *,
        manager: str = "trainshed",
        patience: Patience | None = None,
        on_warning: Callable[[str], None] = _log_warning,
    ) -> Self:
        """A client for a configuration; nothing is sent before the first request."""
        return cls(
            HttpTransport(config),
            namespace=config.namespace,
            manager=manager,
            patience=patience,
            on_warning=on_warning,
        )

    def hold(self, held: Held) -> None:
        """For somebody who watches what it writes: answers to writes that say nothing new are not read."""
        self._held = held

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transport.close()

    # --- reading ---

    async def get(
        self, kind: str | Resource, name: str, namespace: str | None = None, *, subresource: str = ""
    ) -> Object:
        resource = await self.resource(kind)
        return await self.call(requests.get(resource, name, self._place(namespace), subresource=subresource))

    async def find(self, kind: str | Resource, name: str, namespace: str | None = None) -> Object | None:
        """The object, or None where there is none of that name."""
        try:
            return await self.get(kind, name, namespace)
        except faults.NotFound:
            return None

    async def list(
        self, kind: str | Resource, namespace: str | None = None, where: Where = EVERYTHING
    ) -> Listing:
        """All pages of a list; should the pages expire under way, the whole list in one piece."""
        resource, place = await self.resource(kind), self._place(namespace)
        page = await self.list_page(resource, place, dataclasses.replace(where, limit=where.limit or PAGE))
        first, items = page, items_of(page)
        while token := dig(page, "metadata", "continue"):
            # The token carries the revision of the first page; asking for another one beside it is refused.
            onward = dataclasses.replace(where, limit=where.limit or PAGE, token=token, revision="", match="")
            try:
                page = await self.list_page(resource, place, onward)
                items += items_of(page)
            except (faults.Expired, faults.Gone):
                first = page = await self.list_page(resource, place, dataclasses.replace(where, limit=0))
                items = items_of(page)
        # The first page's revision: a watch from there sees whatever happened while the others were fetched.
        return Listing(items, str(dig(first, "metadata", "resourceVersion") or ""))

    async def list_page(
        self, kind: str | Resource, namespace: str | None = None, where: Where = EVERYTHING
    ) -> Object:
        """One list object exactly as the server sends it."""
        return await self.call(requests.list(await self.resource(kind), self._place(namespace), where))

    def watch(self, kind: str | Resource, namespace: str | None = None, where: Where = EVERYTHING) -> Watch:
        """Changes from the present state on, for ever; see `watch.Watch`."""
        return Watch(self, kind, self._place(namespace), where, self._patience)

    async def logs(
        self, pod: str, namespace: str | None = None, options: LogOptions | None = None
    ) -> AsyncIterator[bytes]:
        """Pieces of a container's log as they come; close the iterator to stop following."""
        request = requests.logs(pod, self._place(namespace), options or LogOptions())
        async with self.stream(request) as stream:
            if not 200 <= stream.code < 300:
                raise answers.fault(await stream.read())
            async for piece in stream.chunks():
                yield piece

    async def server_version(self) -> Object:
        return await self.call(requests.raw("/version"))

    # --- writing ---

    async def create(self, obj: Object, namespace: str | None = None, write: Write = PLAIN) -> Object:
        resource, place = await self._home(obj, namespace)
        return await self.call(requests.create(resource, obj, place, self._signed(write)))

    async def create_under(
        self, kind: str | Resource, name: str, subresource: str, obj: Object, namespace: str | None = None
    ) -> Object:
        """POST to a subresource: `("serviceaccounts", "default", "token", request)`."""
        resource = await self.resource(kind)
        return await self.call(
            requests.create_under(resource, name, subresource, obj, self._place(namespace))
        )

    async def replace(
        self, obj: Object, namespace: str | None = None, *, subresource: str = "", write: Write = PLAIN
    ) -> Object:
        resource, place = await self._home(obj, namespace)
        return await self.call(
            requests.replace(resource, obj, place, subresource=subresource, write=self._signed(write))
        )

    async def write_status(self, obj: Object, namespace: str | None = None, write: Write = PLAIN) -> Object:
        """Replace an object's status, and nothing else."""
        return await self.replace(obj, namespace, subresource="status", write=write)

    async def patch(
        self,
        kind: str | Resource,
        name: str,
        changes: JSON,
        namespace: str | None = None,
        *,
        type: PatchType = "merge",
        subresource: str = "",
        write: Write = PLAIN,
    ) -> Object:
        resource, place, write = await self.resource(kind), self._place(namespace), self._signed(write)
        return await self.call(
            requests.patch(resource, name, changes, place, type=type, subresource=subresource, write=write)
        )

    async def apply(
        self,
        obj: Object,
        namespace: str | None = None,
        *,
        force: bool = False,
        subresource: str = "",
        write: Write = PLAIN,
    ) -> Object:
        """Server-side apply of exactly the fields in `obj`, owned by the manager."""
        resource, place = await self._home(obj, namespace)
        return await self.call(
            requests.apply(
                resource, obj, place, force=force, subresource=subresource, write=self._signed(write)
            )
        )

    async def delete(
        self, kind: str | Resource, name: str, namespace: str | None = None, options: Delete = PLAIN_DELETE
    ) -> Object:
        """The server's answer: a Status when it is gone, the object while it is still going."""
        return await self.call(
            requests.delete(await self.resource(kind), name, self._place(namespace), options)
        )

    async def delete_collection(
        self,
        kind: str | Resource,
        namespace: str | None = None,
        where: Where = EVERYTHING,
        options: Delete = PLAIN_DELETE,
    ) -> Object:
        resource = await self.resource(kind)
        return await self.call(requests.delete_collection(resource, self._place(namespace), where, options))

    # --- kinds ---

    async def resource(self, kind: str | Resource) -> Resource:
        return kind if isinstance(kind, Resource) else await self.discovery.find(kind)

    async def resource_of(self, obj: Object) -> Resource:
        return await self.discovery.of_type(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))

    # --- sending ---

    async def call(self, request: Request) -> Object:
        """The object a request is answered with; raises the fault it is refused with."""
        answer = await self.send(request)
        return self._held_already(request, answer) or answers.read_object(answer)

    def _held_already(self, request: Request, answer: Answer) -> Object | None:
        if self._held is None or request.method == "GET" or not 200 <= answer.code < 300:
            return None
        return glimpses.held_already(answer.body, self._held)

    async def send(self, request: Request, within: float = ANSWER_SECONDS) -> Answer:
        """The answer to a request, whatever its code; sent again where that is safe (see `retries`)."""
        for attempt in range(self._patience.attempts):
            last = attempt + 1 == self._patience.attempts
            try:
                answer = await self._send_with_fresh_credentials(request, within)
            except ConnectionFailure as failure:
                if last or not retries.after_failure(request, failure):
                    raise
                wait = 0.0
            else:
                asked = retries.after_answer(request, answer)
                if last or asked is None:
                    self._tell_warnings(answer.headers)
                    return answer
                wait = asked
            await self._patience.sleep(wait or self._patience.wait(attempt))
        raise AssertionError("a client needs at least one attempt")

    def stream(self, request: Request, within: float | None = None) -> AbstractStream:
        """An answer that goes on arriving; sent once, whatever happens."""
        return self._transport.stream(request, within)

    def forget_credentials(self) -> bool:
        """Ask for new credentials at the next request; False when there could be no others."""
        return self._transport.forget_credentials()

    async def _send_with_fresh_credentials(self, request: Request, within: float) -> Answer:
        answer = await self._transport.send(request, within)
        if answer.code == 401 and self.forget_credentials():
            answer = await self._transport.send(request, within)
        return answer

    def _tell_warnings(self, headers: Mapping[str, tuple[str, ...]]) -> None:
        for said in answers.warnings(headers):
            self._on_warning(said)

    async def _home(self, obj: Object, namespace: str | None) -> tuple[Resource, str]:
        """Where an object goes: the namespace asked for, else its own; the server judges a mismatch."""
        own = text(obj, "metadata", "namespace") or None if namespace is None else namespace
        return await self.resource_of(obj), self._place(own)

    def _place(self, namespace: str | None) -> str:
        return self.namespace if namespace is None else namespace

    def _signed(self, write: Write) -> Write:
        if write is PLAIN:
            return self._usual
        return write if write.manager else dataclasses.replace(write, manager=self.manager)


def items_of(page: Object) -> Objects:
    """The items of a list object with the type that built-in lists leave out."""
    kind = str(page.get("kind") or "").removesuffix("List")
    items = page.get("items")
    found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return [answers.with_type(item, str(page.get("apiVersion") or ""), kind) for item in found]
