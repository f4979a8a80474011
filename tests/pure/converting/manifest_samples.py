"""Manifests made up from the published schemas of the v1 kinds, each value unlike all others."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from trainshed.kinds.kubeflow.families import FAMILIES, MPI, PYTORCH, XGBOOST, Family
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import JSON, Object, copied, decode

POLICIES = ("OnFailure", "Never", "Always", "ExitCode")
_WORDS: dict[str, tuple[JSON, ...]] = {
    "cleanPodPolicy": ("None", "Running", "All"),
    "restartPolicy": POLICIES,
    "managedBy": ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue"),
    "nprocPerNode": ("4", "auto", "gpu"),
    "successPolicy": ("", "AllWorkers"),
    "rdzvBackend": ("c10d", "etcd"),
    "runAsUser": (0, 1000),
}
"""Fields whose values mean something to the converter."""
_SMALL = (
    "replicas",
    "minReplicas",
    "maxReplicas",
    "nProcPerNode",
    "slotsPerWorker",
    "minAvailable",
    "backoffLimit",
)
_DEEPEST = 9


@dataclass
class Sampler:
    """Draws an object of a schema; `wealth` is how likely an optional field is there."""

    random: Random
    wealth: float
    count: int = 0
    taken: set[str] = field(default_factory=set)

    def value(self, schema: Object, name: str = "", depth: int = 0) -> JSON:
        if name in _WORDS:
            return self.random.choice(_WORDS[name])
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            return self.object(schema, depth)
        if kind == "array":
            some = range(self.random.choice((1, 1, 2)))
            return [self.value(schema.get("items") or {}, "", depth + 1) for _ in some]
        if kind == "boolean":
            return self.random.random() < 0.5
        if schema.get("x-kubernetes-int-or-string") and "pattern" in schema:
            return f"{1_000_000 + self._next()}m"
        if schema.get("enum"):
            return self.random.choice(schema["enum"])
        if kind in ("integer", "number"):
            return self.random.randint(1, 3) if name in _SMALL else 1_000_000 + self._next()
        return f"text-{self._next():05}-end"

    def _next(self) -> int:
        self.count += 1
        return self.count

    def object(self, schema: Object, depth: int) -> Object:
        given: Object = schema.get("properties") or {}
        if not given and isinstance(schema.get("additionalProperties"), dict):
            return {f"key-{self._next():05}": self.value(schema["additionalProperties"], "", depth + 1)}
        needed = schema.get("required") or ()
        chance = self.wealth if depth < _DEEPEST else 0.0
        names = [name for name in given if name in needed or self.random.random() < chance]
        if not names and given:
            names = [self.random.choice(sorted(given))]
        return {name: self.value(given[name], name, depth + 1) for name in names}


class Specs(dict[str, Object]):
    """The schema of the spec of each v1 kind."""

    def __repr__(self) -> str:
        return "the schemas"  # they are large


def specs(schemas: Schemas) -> Specs:
    found = Specs()
    for crd in schemas.crds():
        document = decode(crd.raw)
        kind = document["spec"]["names"]["kind"]
        if kind in {family.kind for family in FAMILIES} and document["spec"]["group"] == "kubeflow.org":
            root = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            found[kind] = root["properties"]["spec"]
    return found


def a_manifest(family: Family, schema: Object, random: Random) -> Object:
    """A job v1 would take."""
    draw = Sampler(random, random.choice((0.03, 0.1, 0.25)))
    spec = draw.object(schema, 0)
    replica = schema["properties"][family.replicas]["additionalProperties"]
    types = _types(family, random)
    spec[family.replicas] = {type: a_replica(family, type, replica, draw) for type in types}
    if len(types) > 1 and random.random() < 0.4:
        _make_alike(spec[family.replicas])
    if isinstance(spec.get("elasticPolicy"), dict) and "nprocPerNode" in spec:
        spec["elasticPolicy"].pop("nProcPerNode", None)
    if isinstance(spec.get("elasticPolicy"), dict) and "Worker" not in types:
        del spec["elasticPolicy"]
    metadata = {"name": "sample", "labels": {"team": f"text-{draw._next():05}-end"}, "generation": 4}
    return {"apiVersion": "kubeflow.org/v1", "kind": family.kind, "metadata": metadata, "spec": spec}


def _types(family: Family, random: Random) -> list[str]:
    lead = {PYTORCH.kind: "", XGBOOST.kind: "Master", MPI.kind: "Launcher"}.get(family.kind, "")
    some = random.sample(family.types, random.randint(1, len(family.types)))
    if {"Chief", "Master"} <= set(some):
        some.remove("Chief")
    return some if not lead or lead in some else [lead, *some]


def _make_alike(replicas: Object) -> None:
    first, *others = replicas.values()
    for other in others:
        other.update(template=copied(first["template"]))
        other.pop("restartPolicy", None)
        if "restartPolicy" in first:
            other["restartPolicy"] = first["restartPolicy"]


def a_replica(family: Family, type: str, schema: Object, draw: Sampler) -> Object:
    found: Object = draw.object(schema, 1)
    found["replicas"] = (
        1 if type in ("Master", "Launcher", "Scheduler", "Chief") else draw.random.randint(1, 3)
    )
    template = schema["properties"]["template"]
    found["template"] = draw.object(template, 2) if draw.random.random() < 0.7 else {}
    pod = template["properties"]["spec"]
    found["template"]["spec"] = draw.object({**pod, "required": []}, 3)
    containers = [draw.value(pod["properties"]["containers"]["items"], "", 5)]
    if draw.random.random() < 0.3:
        containers.append(draw.value(pod["properties"]["containers"]["items"], "", 5))
    for index, container in enumerate(containers):
        container |= {"name": family.container if index == 0 else f"side-{draw._next()}"}
        container["image"] = f"text-{draw._next():05}-end"
    found["template"]["spec"]["containers"] = containers
    return found
