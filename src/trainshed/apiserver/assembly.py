"""The server's parts put together: store, kinds, access, housekeeping, application."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from trainshed.apiserver import (
    admission,
    definitions,
    install,
    limits,
    podlogs,
    podsecurity,
    podstreams,
    services,
    subresources,
    training,
    writes,
)
from trainshed.apiserver.access import addresses, admintoken, bootstrap, kubeconfig, tls
from trainshed.apiserver.access.audit import Audit
from trainshed.apiserver.access.authentication import Authenticator
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.signing import SigningKey
from trainshed.apiserver.access.tokenrequests import TokenRequests
from trainshed.apiserver.access.tokens import AccountTokens
from trainshed.apiserver.agents import Agents
from trainshed.apiserver.aggregates import Aggregates
from trainshed.apiserver.ahead import Wait
from trainshed.apiserver.app import Application
from trainshed.apiserver.documents import Documents
from trainshed.apiserver.garbage import Collector
from trainshed.apiserver.housekeeping import Housekeeper
from trainshed.apiserver.namespaces import Namespaces
from trainshed.apiserver.openapi import OpenApi
from trainshed.apiserver.quotas import Quotas
from trainshed.apiserver.registry import Registry
from trainshed.apiserver.reviewing import Reviewing
from trainshed.apiserver.routes import Handler, Place
from trainshed.apiserver.state import State
from trainshed.kinds import builtin
from trainshed.kinds.core import event_dialects
from trainshed.kinds.kind import Dialect
from trainshed.kinds.printing import PRINTERS
from trainshed.kinds.rules import RULES
from trainshed.kinds.scheduling import priorityclasses
from trainshed.kinds.schemas import Schemas
from trainshed.kinds.trainer import publication, runtimes
from trainshed.kube import streaming
from trainshed.kube.objects import Object, decode
from trainshed.store.records import Key, Record
from trainshed.store.store import Store

DIALECTS = {"events.events.k8s.io": Dialect("events", event_dialects.to_core, event_dialects.to_events_v1)}
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class Folder:
    """Where things lie in the data folder."""

    root: Path

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def certificates(self) -> Path:
        return self.root / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def agent(self) -> Path:
        return self.root / streaming.SOCKET

    @property
    def audit(self) -> Path:
        return self.root / "audit.log"


@dataclass(frozen=True, slots=True)
class StoredObjects:
    """The access package's window on the store."""

    store: Store

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        record = self.store.get(Key(resource, namespace, name))
        return None if record is None else decode(record.value)

    def list(self, resource: str, namespace: str | None) -> Iterable[Object]:
        return (decode(record.value) for record in self.store.list(resource, namespace))

    def revision_of(self, resources: tuple[str, ...]) -> int:
        return self.store.revision_of(*resources)


@asynccontextmanager
async def running(
    folder: Path, cache: Path, bind: str, url: str, await_schemas: Wait = lambda: None
) -> AsyncIterator[Application]:
    """The application with everything it needs at work; ends it all in order."""
    places = Folder(folder)
    names = tls.server_names(bind, socket.gethostname(), addresses.own())
    certificates = tls.ensure(places.certificates, names, datetime.now(UTC))
    await_schemas()
    schemas = Schemas.load(cache)
    store = Store.open(places.store)
    audit = Audit(places.audit)
    keeper = Housekeeper("housekeeping")
    task = asyncio.create_task(keeper.run(), name="housekeeping")
    try:
        state = _state(store, schemas)
        reviewing = _access(state, places, certificates)
        await _furnish(state, schemas, keeper, reviewing)
        _write_kubeconfig(places, certificates, url)
        yield Application(
            state,
            reviewing.authenticator,
            reviewing.authorizer,
            audit,
            _documents(state, schemas, reviewing.tokens, url),
            {**subresources.HANDLERS, **reviewing.handlers(), **_pod_handlers(places, audit)},
        )
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()
        audit.close()


def _pod_handlers(places: Folder, audit: Audit) -> Mapping[Place, Handler]:
    """What is answered by the node agent."""
    agents = Agents(places.agent)
    streams = podstreams.PodStreams(agents, audit)
    return {
        ("pods", "log", "get"): podlogs.PodLogs(agents).handle,
        **{("pods", part, verb): streams.open for part in podstreams.PARTS for verb in ("get", "create")},
    }


def _documents(state: State, schemas: Schemas, tokens: AccountTokens, url: str) -> Documents:
    keys = "/openid/v1/jwks"
    extra = {
        keys: tokens.jwks,
        "/.well-known/openid-configuration": lambda: tokens.openid_configuration(url + keys),
    }
    openapi = OpenApi(schemas.definitions, schemas.edition)
    return Documents(state.registry, openapi, url, lambda: {"ping": "", "store": state.store.trouble}, extra)


def _state(store: Store, schemas: Schemas) -> State:
    kinds = builtin.builtin(schemas, RULES, PRINTERS, DIALECTS)
    state = State(store, Registry(kinds), lambda: schemas.compiled(OBJECT_META))
    state.checks.update(admission.CHECKS | services.CHECKS | definitions.CHECKS | training.CHECKS)
    for resource, checks in limits.CHECKS.items():
        state.checks[resource] = (*checks, *state.checks.get(resource, ()))
    for table in (services.VERDICTS, training.VERDICTS, limits.VERDICTS, podsecurity.VERDICTS):
        for resource, checks in table.items():
            state.verdicts[resource] = (*state.verdicts.get(resource, ()), *checks)
    return state


def _access(state: State, places: Folder, certificates: tls.Certificates) -> Reviewing:
    lookup = StoredObjects(state.store)
    authorizer = Authorizer(lookup)
    tokens = AccountTokens(SigningKey(places.certificates / "service-accounts.key"), lookup)
    admin = admintoken.ensure(places.certificates / "admin.token")
    reviewing = Reviewing(
        Authenticator(admin, tokens, authorizer),
        authorizer,
        tokens,
        TokenRequests(tokens, lookup, state.now),
        certificates.authority_pem(),
    )
    for resource, checks in reviewing.checks().items():
        state.checks[resource] = (*state.checks.get(resource, ()), *checks)
    return reviewing


async def _furnish(state: State, schemas: Schemas, keeper: Housekeeper, reviewing: Reviewing) -> None:
    """Bring the stored world to where this version expects it, then start what keeps it so."""
    shipped = schemas.crds()
    find = partial(_shipped_definition, schemas, frozenset(crd.name for crd in shipped))
    served = definitions.Definitions(state, keeper, find)
    namespaces = Namespaces(state, keeper, reviewing.authority.decode())
    collector = Collector(state, keeper)
    aggregates = Aggregates(state, keeper)
    served.start()
    state.after_write += [served.notice, namespaces.notice, collector.notice, aggregates.notice]
    await install.namespaces(state)
    await asyncio.gather(
        install.ensure_shipped(state, definitions.RESOURCE, shipped),
        _bootstrap_roles(state),
        install.ensure(state, "services", [install.API_SERVICE]),
        install.ensure(state, "priorityclasses.scheduling.k8s.io", priorityclasses.SHIPPED),
        *(
            install.ensure(state, resource, [obj], publication.LABEL)
            for resource, obj in publication.objects().items()
        ),
    )
    await install.ensure_shipped(state, "clustertrainingruntimes.trainer.kubeflow.org", runtimes.builtin())
    state.quotas = Quotas(state)
    state.quotas.start()
    namespaces.start()
    collector.start()
    aggregates.start()


def _shipped_definition(schemas: Schemas, known: frozenset[str], name: str) -> Object | None:
    """Our edition of a definition, read from the cache of generated schemas when somebody needs it."""
    if name not in known:
        return None
    return next((decode(crd.raw) for crd in schemas.crds() if crd.name == name), None)


async def _bootstrap_roles(state: State) -> None:
    """Written together, so that they share their commits."""
    futures = [_bootstrap_role(state, wanted) for wanted in bootstrap.wanted()]
    await asyncio.gather(*(future for future in futures if future is not None))


def _bootstrap_role(state: State, wanted: Object) -> asyncio.Future[Record] | None:
    kind = state.registry.of_reference(wanted["apiVersion"], wanted["kind"])
    if kind is None:
        return None
    old = state.store.head(Key(kind.resource, "", wanted["metadata"]["name"]))
    obj = bootstrap.reconciled(None if old is None else decode(old.value), wanted)
    if obj is None:
        return None
    if old is None:
        install.mark(state, kind, obj, bootstrap.LABEL)
        return writes.begin_insert(state, kind, obj, install.WRITER)
    return writes.begin_replace(state, kind, old, obj, install.WRITER)


def _write_kubeconfig(places: Folder, certificates: tls.Certificates, url: str) -> None:
    token = admintoken.ensure(places.certificates / "admin.token")
    kubeconfig.write(places.kubeconfig, url, certificates.authority_pem(), token)


def certificates_in(folder: Path) -> tls.Certificates:
    root = Folder(folder).certificates
    return tls.Certificates(root / "ca.crt", root / "server.crt", root / "server.key")
