"""How many pods each job has, and what each of them asks for."""

from __future__ import annotations

from trainshed.controllers.trainjob.draft import Draft, container, count, set_count
from trainshed.kinds.reading import entries, is_true, mapping, number
from trainshed.kinds.trainer import templates
from trainshed.kube.objects import Object, copied, text


def count_as_runtime(draft: Draft) -> None:
    """The template's parallelism; for the training itself the policy's number of nodes."""
    policy = templates.policy(draft.runtime, "mlPolicy")
    for job in draft.jobs:
        pods = count(job)
        if policy is not None and templates.ancestor(job) == templates.TRAINER:
            nodes = number(policy, "numNodes")
            pods = 1 if nodes is None else nodes
        set_count(job, max(pods, 1))


def count_as_asked(draft: Draft) -> None:
    """The TrainJob's numNodes, as it is written: zero nodes finish at once."""
    if draft.nodes is None:
        return
    if draft.policy("mpi") is not None:
        _count_mpi(draft, draft.nodes)
    elif draft.trainer_job is not None:
        set_count(draft.trainer_job, draft.nodes)


def _count_mpi(draft: Draft, nodes: int) -> None:
    """MPI counts the job named `node`; a launcher that computes too is one of the nodes."""
    node = draft.job_named(templates.NODE)
    if node is not None:
        set_count(node, max(nodes - 1, 1) if runs_launcher_as_node(draft) else nodes)


def runs_launcher_as_node(draft: Draft) -> bool:
    return is_true(draft.policy("mpi"), "runLauncherAsNode")


# --- resources --------------------------------------------------------------------------------------------


def add_resources(draft: Draft) -> None:
    """The TrainJob's resourcesPerNode, over those of the runtime, name by name."""
    asked = mapping(draft.trainer, "resourcesPerNode")
    if not asked and "resourcesPerNode" not in (draft.trainer or {}):
        return
    for job in computing_jobs(draft):
        node = container(job, templates.NODE)
        if node is not None:
            node["resources"] = _merged(mapping(node, "resources"), asked)


def computing_jobs(draft: Draft) -> list[Object]:
    """The training's job and, where the MPI launcher computes too, the job of the other nodes."""
    if templates.policy(draft.runtime, "mlPolicy") is None:
        # Upstream asks for a policy first; without one resourcesPerNode would be dropped silently.
        return [job for job in draft.jobs if templates.ancestor(job) == templates.TRAINER]
    others = templates.NODE if runs_launcher_as_node(draft) else None
    return [
        job
        for job in draft.jobs
        if templates.ancestor(job) == templates.TRAINER or (others and text(job, "name") == others)
    ]


def _merged(base: Object, asked: Object) -> Object:
    found: Object = {}
    for part in ("limits", "requests"):
        amounts = {**mapping(base, part), **mapping(asked, part)}
        if amounts or part in base or part in asked:
            found[part] = amounts
    if claims := _claims(base, asked):
        found["claims"] = claims
    return found


def _claims(base: Object, asked: Object) -> list[Object]:
    """By name. (Upstream merges them too, and then forgets to write them.)"""
    both = {text(claim, "name"): claim for claim in entries(base, "claims") + entries(asked, "claims")}
    return [copied(claim) for claim in both.values()]
