"""delete and deletecollection as HTTP verbs."""

from __future__ import annotations

from trainshed.apiserver import answers, bodies, negotiation, reading, removal, rendering, selecting
from trainshed.apiserver.answers import Answer
from trainshed.apiserver.call import Call
from trainshed.kube import faults
from trainshed.kube.objects import Object
from trainshed.store.records import Record

_DEFAULT_ORPHAN = (
    "child pods are preserved by default when jobs are deleted; "
    "set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning"
)


async def delete(call: Call) -> Answer:
    wish = _options(call)
    old = call.state.store.head(call.key)
    if old is None:
        raise call.not_found()
    _warn_about_orphans(call, wish)
    removed = await removal.remove(call.state, call.kind, old, wish)
    if removed.gone and not call.kind.rules.always_returns_object_on_delete:
        return answers.of(answers.success(details=_details(call, removed.record)))
    return reading.one(call, removed.record)


async def delete_collection(call: Call) -> Answer:
    wish = _options(call)
    selection = selecting.parse(call.request.query, call.kind)
    records = call.state.store.list(call.kind.stored_as, call.namespace or None)
    chosen = [record for record in records if selection.matches(record)]
    removed = await removal.remove_all(call.state, call.kind, chosen, wish)
    objects = [rendering.spoken(call.kind, record) for record in removed]
    metadata: Object = {"resourceVersion": str(call.state.store.revision)}
    wanted = negotiation.answer_form(call.request.header(b"accept"))
    return await reading.listed(call, objects, metadata, wanted)


def _options(call: Call) -> removal.Options:
    """From the body if there is one, else from the query."""
    if call.request.body.strip():
        wish = bodies.decoded(call, "DeleteOptions")
        if wish.get("kind") not in (None, "", "DeleteOptions"):
            raise faults.BadRequest(f"the body of a delete must be DeleteOptions, got {wish['kind']}")
    else:
        wish = _from_query(call)
    if call.dry_run:
        wish = wish | {"dryRun": call.request.query.all("dryRun")}
    return removal.options(wish)


def _from_query(call: Call) -> Object:
    query = call.request.query
    wish: Object = {}
    if query.has("gracePeriodSeconds"):
        wish["gracePeriodSeconds"] = query.integer("gracePeriodSeconds")
    if query.has("orphanDependents"):
        wish["orphanDependents"] = query.flag("orphanDependents")
    if policy := query.get("propagationPolicy"):
        wish["propagationPolicy"] = policy
    return wish


def _warn_about_orphans(call: Call, wish: removal.Options) -> None:
    if call.kind.resource == "jobs.batch" and not wish.policy:
        call.warn(_DEFAULT_ORPHAN)


def _details(call: Call, record: Record) -> Object:
    details = {"name": record.key.name, "group": call.kind.group, "kind": call.kind.plural, "uid": record.uid}
    return {key: value for key, value in details.items() if value}
