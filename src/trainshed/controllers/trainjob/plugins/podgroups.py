"""Gang scheduling on clusters: a PodGroup for coscheduling or Volcano, and the mark on every pod.

Trainshed's own scheduler places gangs without them; servers without these kinds get the marks only.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from trainshed.controllers.trainjob.draft import Draft, beside, count, pod_template
from trainshed.controllers.trainjob.plugins.plugin import Plugin
from trainshed.kinds.core import requests
from trainshed.kinds.core.resources import parsed
from trainshed.kinds.reading import child, mapping, number
from trainshed.kinds.trainer import templates
from trainshed.kinds.trainer.policies import QUEUE
from trainshed.kube import quantities
from trainshed.kube.objects import JSON, Object, text

Amounts = dict[str, str]
LABEL = "scheduling.x-k8s.io/pod-group"
ANNOTATION = "scheduling.k8s.io/group-name"


def _applies(policy: str) -> Callable[[Draft], bool]:
    return lambda draft: templates.policy(draft.runtime, "podGroupPolicy", policy) is not None


def _coschedule(draft: Draft) -> None:
    policy = templates.policy(draft.runtime, "podGroupPolicy", "coscheduling")
    seconds = number(policy, "scheduleTimeoutSeconds")
    spec = {**_gang(draft), "scheduleTimeoutSeconds": 60 if seconds is None else seconds}
    draft.objects.append(beside(draft.job, "PodGroup", "", "scheduling.x-k8s.io/v1alpha1", spec=spec))
    _mark(draft, "labels", LABEL)


def _use_volcano(draft: Draft) -> None:
    policy = templates.policy(draft.runtime, "podGroupPolicy", "volcano") or {}
    spec = _gang(draft)
    if queue := text(draft.annotations, QUEUE):
        spec["queue"] = queue
    classes = [text(templates.pod(job), "priorityClassName") for job in draft.jobs]
    if named := [found for found in classes if found]:
        spec["priorityClassName"] = named[-1]
    if topology := mapping(policy, "networkTopology"):
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1, **topology}
    draft.objects.append(beside(draft.job, "PodGroup", "", "scheduling.volcano.sh/v1beta1", spec=spec))
    _mark(draft, "annotations", ANNOTATION)


def _mark(draft: Draft, where: str, key: str) -> None:
    for job in draft.jobs:
        metadata = child(pod_template(job), "metadata")
        metadata[where] = {**mapping(metadata, where), key: draft.name}


def _gang(draft: Draft) -> Object:
    """All pods of all jobs, initializers too."""
    total: Amounts = {}
    for job in draft.jobs:
        for name, amount in pod_requests(templates.pod(job)).items():
            times = quantities.format(quantities.parse(amount) * count(job), amount)
            total[name] = quantities.add(total.get(name, "0"), times)
    return {"minMember": sum(count(job) for job in draft.jobs), "minResources": total}


# --- what a pod requests ----------------------------------------------------------------------------------


def pod_requests(pod: Object) -> Amounts:
    """Its containers and sidecars together, or what starting takes where that is more; plus the overhead."""
    nothing: Amounts = {}
    needed = requests.of_pod(pod, nothing, _requests, _sum, _larger)
    return _sum(needed, _amounts(mapping(pod, "overhead")))


def _requests(container: Object) -> Amounts:
    return _amounts(mapping(container, "resources", "requests"))


def _amounts(found: JSON) -> Amounts:
    return {
        name: quantities.canonical(amount) for name, amount in found.items() if parsed(amount) is not None
    }


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {**one, **{name: quantities.add(one.get(name, "0"), amount) for name, amount in other.items()}}


def _larger(one: Amounts, other: Amounts) -> Amounts:
    more = {name: amount for name, amount in other.items() if quantities.parse(amount) > _known(one, name)}
    return {**one, **more}


def _known(amounts: Amounts, name: str) -> Decimal:
    return quantities.parse(amounts.get(name, "0"))


COSCHEDULING = Plugin("coscheduling", _applies("coscheduling"), _coschedule)
VOLCANO = Plugin("volcano", _applies("volcano"), _use_volcano)
