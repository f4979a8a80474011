"""PyTorch: what `init_process_group` and torchrun read, elastic or not."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.controllers.v1jobs import elastic
from trainshed.controllers.v1jobs.environment.member import UNBUFFERED, Member
from trainshed.kinds.core.environment import variable
from trainshed.kinds.reading import entries, is_true, number
from trainshed.kube.numbers import integer
from trainshed.kube.objects import Object, dig, text


def variables(member: Member) -> list[Object]:
    elastic = isinstance(dig(member.job, "spec", "elasticPolicy"), dict)
    processes = processes_per_node(member.job)
    return [
        UNBUFFERED,
        *(_of_master(member) if member.has("Master") else ()),
        *([variable("PET_NPROC_PER_NODE", processes)] if processes else ()),
        *(_elastic(member) if elastic else [variable("PET_NNODES", member.total)]),
    ]


def processes_per_node(job: Object) -> str:
    """`auto` unless the job says it; empty where its elastic policy does."""
    if number(job, "spec", "elasticPolicy", "nProcPerNode") is not None:
        return text(job, "spec", "nprocPerNode")
    return text(job, "spec", "nprocPerNode") or "auto"


def _of_master(member: Member) -> Iterator[Object]:
    """Ranks are those of pods: `RANK` is not multiplied by the processes of each, `WORLD_SIZE` is."""
    port, address = member.port("Master"), member.host("Master")
    many = integer(processes_per_node(member.job))
    rank = member.index + 1 if member.is_worker else member.index
    yield variable("MASTER_PORT", port)
    yield variable("PET_MASTER_PORT", port)
    yield variable("MASTER_ADDR", address)
    yield variable("PET_MASTER_ADDR", address)
    yield variable("WORLD_SIZE", member.total * (1 if many is None else many))
    yield variable("RANK", rank)
    yield variable("PET_NODE_RANK", rank)


def _elastic(member: Member) -> Iterator[Object]:
    policy = dig(member.job, "spec", "elasticPolicy")
    bounds = elastic.bounds(member.job, member.replicas)
    yield variable("PET_RDZV_ENDPOINT", _endpoint(member, policy))
    yield variable("PET_RDZV_BACKEND", text(policy, "rdzvBackend") or "c10d")
    if bounds is not None:
        yield variable("PET_NNODES", f"{bounds.least}:{bounds.most}")
    for name, field in (("PET_MAX_RESTARTS", "maxRestarts"), ("PET_NPROC_PER_NODE", "nProcPerNode")):
        if (found := number(policy, field)) is not None:
            yield variable(name, found)
    yield from rendezvous(policy)


def rendezvous(policy: Object) -> Iterator[Object]:
    """What an elastic policy says about it, beyond its bounds and where it is."""
    if isinstance(dig(policy, "rdzvId"), str):
        yield variable("PET_RDZV_ID", text(policy, "rdzvId"))
    if pairs := entries(policy, "rdzvConf"):
        said = ",".join(f"{text(pair, 'key')}={text(pair, 'value')}" for pair in pairs)
        yield variable("PET_RDZV_CONF", said)
    if is_true(policy, "standalone"):
        yield variable("PET_STANDALONE", "")


def _endpoint(member: Member, policy: Object) -> str:
    host, port = dig(policy, "rdzvHost"), number(policy, "rdzvPort")
    host = host if isinstance(host, str) else member.host("Worker")
    return f"{host}:{member.port('Worker') if port is None else port}"
