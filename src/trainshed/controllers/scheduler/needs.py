"""A pod as the scheduler sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainshed.controllers.scheduler import amounts
from trainshed.controllers.scheduler.amounts import Amounts
from trainshed.kinds.jobset.labels import ATTEMPT, JOBSET_NAME, JOBSET_UID
from trainshed.kinds.reading import entries, mapping, number, texts
from trainshed.kinds.scheduling.gangs import MINIMUM
from trainshed.kube import selectors
from trainshed.kube.faults import Fault
from trainshed.kube.numbers import whole
from trainshed.kube.objects import Object, encode, text
from trainshed.kube.owners import controller_of
from trainshed.kube.selectors import NOTHING, LabelSelector

GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
RELAX = "trainshed.dev/relax"
INDEX = "batch.kubernetes.io/job-completion-index"
SCHEDULER = "default-scheduler"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PLACING = ("nodeSelector", "affinity", "tolerations")


@dataclass(frozen=True, slots=True)
class Term:
    """One required term of pod affinity: pods it is about, and how wide a place is."""

    topology: str
    selector: LabelSelector
    namespaces: frozenset[str]
    """Empty for all."""

    def is_about(self, need: Need) -> bool:
        return (not self.namespaces or need.namespace in self.namespaces) and self.selector.matches(
            need.labels
        )


@dataclass(frozen=True, slots=True)
class Need:
    uid: str
    namespace: str
    name: str
    requests: Amounts
    """What it takes from a node; nothing for one that is relaxed."""
    asked: Amounts
    """What it was written to take."""
    spec: Object = field(repr=False, compare=False)
    labels: dict[str, str] = field(default_factory=dict, repr=False)
    shape: bytes = b""
    """Pods of one shape fit the same nodes."""
    priority: int = 0
    created: str = ""
    gated: bool = False
    relaxed: bool = False
    job: str = ""
    """The uid of the Job that made it."""
    maker: str = ""
    """The uid of whatever made it."""
    owner: str = ""
    """The name of whatever made it, for people."""
    group: tuple[str, ...] = ()
    """The gang its marks name."""
    minimum: int | None = None
    index: int = 0
    attract: tuple[Term, ...] = ()
    repel: tuple[Term, ...] = ()
    claims: tuple[str, ...] = ()
    """The volume claims it mounts."""
    promised_by: str = ""
    """The name of the Job that will make it; empty for a pod that exists."""


def of(pod: Object, *, relax: bool = False, promised_by: str = "") -> Need:
    meta, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    labels, notes = mapping(meta, "labels"), mapping(meta, "annotations")
    asked, owner = amounts.of_pod(spec), controller_of(pod) or {}
    relaxed = relax or text(notes, RELAX) == "true"
    requests = {} if relaxed else asked
    namespace = text(meta, "namespace")
    return Need(
        uid=text(meta, "uid"),
        namespace=namespace,
        name=text(meta, "name"),
        requests=requests,
        asked=asked,
        spec=spec,
        labels=labels,
        shape=_shape(requests, spec, labels, namespace),
        priority=number(spec, "priority") or 0,
        created=text(meta, "creationTimestamp"),
        gated=bool(entries(spec, "schedulingGates")),
        relaxed=relaxed,
        job=text(owner, "uid") if _is_job(owner) else "",
        maker=text(owner, "uid"),
        owner=text(labels, JOBSET_NAME) or text(owner, "name"),
        group=group_of(labels, notes, namespace) or _siblings(owner, notes, namespace),
        minimum=whole(notes.get(MINIMUM)),
        index=whole(notes.get(INDEX)) or 0,
        attract=_terms(spec, "podAffinity", namespace),
        repel=_terms(spec, "podAntiAffinity", namespace),
        claims=_claims(spec),
        promised_by=promised_by,
    )


def group_of(labels: Object, notes: Object, namespace: str) -> tuple[str, ...]:
    """The gang that labels and annotations name: a PodGroup's, else a JobSet's attempt."""
    if name := text(labels, GROUP_LABEL) or text(notes, GROUP_ANNOTATION):
        return "group", namespace, name
    if name := text(labels, JOBSET_NAME):
        return "jobset", namespace, name, text(labels, JOBSET_UID), text(labels, ATTEMPT)
    return ()


def _siblings(owner: Object, notes: Object, namespace: str) -> tuple[str, ...]:
    """The gang of a pod that says how many it needs, and that no Job made: all that its owner makes."""
    if notes.get(MINIMUM) is None or not text(owner, "uid") or _is_job(owner):
        return ()
    return "owner", namespace, text(owner, "uid")


def _is_job(owner: Object) -> bool:
    return owner.get("kind") == "Job"


def is_waiting(pod: Object) -> bool:
    """Is it ours to place?"""
    return (
        not text(pod, "spec", "nodeName")
        and not is_over(pod)
        and not text(pod, "metadata", "deletionTimestamp")
        and (text(pod, "spec", "schedulerName") or SCHEDULER) == SCHEDULER
    )


def is_over(pod: Object) -> bool:
    return text(pod, "status", "phase") in ("Succeeded", "Failed")


def _shape(requests: Amounts, spec: Object, labels: Object, namespace: str) -> bytes:
    placing = [spec.get(name) for name in _PLACING]
    if mapping(spec, "affinity", "podAffinity") or mapping(spec, "affinity", "podAntiAffinity"):
        placing.append([namespace, labels])  # a term may be about the pod itself
    return encode([requests, placing])


def _claims(spec: Object) -> tuple[str, ...]:
    named = (text(volume, "persistentVolumeClaim", "claimName") for volume in entries(spec, "volumes"))
    return tuple(name for name in named if name)


def _terms(spec: Object, kind: str, namespace: str) -> tuple[Term, ...]:
    return tuple(_term(term, namespace) for term in entries(spec, "affinity", kind, _REQUIRED))


def _term(term: Object, namespace: str) -> Term:
    try:
        selector = selectors.from_object(term.get("labelSelector"))
    except Fault:
        selector = NOTHING
    named = frozenset(texts(term, "namespaces"))
    everywhere = isinstance(term.get("namespaceSelector"), dict)
    places = frozenset() if everywhere else named or frozenset((namespace,))
    return Term(text(term, "topologyKey"), selector, places)
