"""Nothing is dropped in silence: each field of a manifest is carried over or told of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.converting import manifest_samples, simulated
from tests.pure.converting.manifest_samples import Specs
from trainshed.jobs.converting import texts
from trainshed.jobs.converting.converting import Conversion, convert
from trainshed.jobs.converting.findings import dotted
from trainshed.jobs.converting.parcels import Path, leaves
from trainshed.kinds.kubeflow.families import FAMILIES, Family
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import JSON, Object, copied

RENAMED = {
    "replicas": ("numNodes", "parallelism", "replicas"),
    "nprocPerNode": ("numProcPerNode", "value"),
    "nProcPerNode": ("numProcPerNode", "value"),
    "slotsPerWorker": ("numProcPerNode",),
    "minReplicas": ("minNodes", "value"),
    "maxReplicas": ("maxNodes", "value"),
    "maxRestarts": ("maxRestarts", "value"),
    "ttlSecondsAfterFinished": ("trainshed.dev/ttl-seconds-after-finished",),
    "minAvailable": ("trainshed.dev/gang-minimum",),
    "queue": ("scheduling.volcano.sh/queue-name",),
    "priorityClass": ("priorityClassName",),
    "rdzvBackend": ("value",), "rdzvHost": ("value",), "rdzvPort": ("value",), "rdzvId": ("value",),
    "key": ("key", "value"), "value": ("value",), "standalone": ("name",), "enableDynamicWorker": (),
    "containerPort": ("containerPort", "value"), "sshAuthMountPath": ("sshAuthMountPath",),
}  # fmt: skip
"""What fields may be called in the result, where it is not what they were called."""


@pytest.fixture(scope="session")
def specs(schemas: Schemas) -> Specs:
    return manifest_samples.specs(schemas)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_every_field_is_carried_over_or_told_of(family: Family, seed: int, specs: Specs) -> None:
    manifest = manifest_samples.a_manifest(family, specs[family.kind], Random(seed))
    before = copied(manifest)
    found = convert([manifest])
    assert manifest == before
    assert found.converted == 1, [finding.line for finding in found.findings]
    assert list(unaccounted(manifest, found, family)) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_every_field_of_a_pod_is_in_the_same_place_of_the_new_one_or_told_of(
    family: Family, seed: int, specs: Specs
) -> None:
    manifest = manifest_samples.a_manifest(family, specs[family.kind], Random(seed))
    assert list(misplaced(manifest, convert([manifest]))) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_converting_twice_changes_nothing(family: Family, seed: int, specs: Specs) -> None:
    manifest = manifest_samples.a_manifest(family, specs[family.kind], Random(seed))
    once = convert([manifest])
    twice = convert(once.documents)
    assert twice.documents == once.documents
    assert twice.converted == 0


def unaccounted(manifest: Object, found: Conversion, family: Family) -> Iterator[str]:
    made: dict[str, list[JSON]] = {}
    for document in found.documents:
        for path in leaves(document):
            made.setdefault(name_of(path), []).append(value_at(document, path))
    told = {finding.field for finding in found.findings}
    gone = [
        finding.field for finding in found.findings if finding.verdict in ("not carried over", "not needed")
    ]
    for path in leaves(manifest):
        shown = dotted(path)
        is_told = shown in told or any(is_below(shown, field) for field in gone)
        if not is_told and not is_carried(path, value_at(manifest, path), made, family):
            yield f"{shown} = {value_at(manifest, path)!r}"


def misplaced(manifest: Object, found: Conversion) -> Iterator[str]:
    """Fields of pods that the pods themselves do not have in the end, whatever is written in a runtime."""
    topology = simulated.topology_of(manifest)
    made = simulated.made_pods(simulated.jobset_of(found.documents, is_whole=False))
    told = {finding.field for finding in found.findings}
    gone = [
        finding.field for finding in found.findings if finding.verdict in ("not carried over", "not needed")
    ]
    for part in topology.parts:
        pod = made[topology.address(part.type, 0).partition(".")[0]]
        base = ("spec", topology.family.replicas, part.key, "template")
        for path in leaves(part.template):
            shown = dotted((*base, *path))
            is_told = shown in told or any(is_below(shown, field) for field in gone)
            if not is_told and not is_in_place(path, part.template, pod):
                yield f"{shown} = {value_at(part.template, path)!r}"


def is_in_place(path: Path, template: Object, pod: Object) -> bool:
    if "env" in path:
        return is_given(path, template, pod)
    with contextlib.suppress(KeyError, IndexError, TypeError):
        now = value_at(pod, path)
        return bool(now == value_at(template, path)) or (name_of(path), now) == ("containerName", "node")
    return False


def is_given(path: Path, template: Object, pod: Object) -> bool:
    """Variables go by their names; others may stand before them."""
    place = path.index("env")
    wanted = value_at(template, path[: place + 2])
    if "value" in wanted and "valueFrom" in wanted:
        return True  # no server takes a pod with both
    there = value_at(pod, path[:place]).get("env") or ()
    return any({"value": "", **wanted} == {"value": "", **item} for item in there)


def is_below(field: str, above: str) -> bool:
    return field == above or field.startswith((f"{above}.", f"{above}["))


def is_carried(path: Path, value: JSON, made: Mapping[str, list[JSON]], family: Family) -> bool:
    """By its own name or by the one it has now: as it is, or as part of a text."""
    name = name_of(path)
    if path in (("apiVersion",), ("kind",)):
        return True
    if name == "replicas" and path[1] == family.replicas:
        return bool(made.get("numNodes"))  # a sum; what it must be is tested by hand
    if name == "containerName":
        return "node" in made.get(name, ())  # what the main container is called
    there = [item for other in RENAMED.get(name, (name,)) for item in made.get(other, ())]
    if isinstance(value, bool):
        return value in there or name in ("standalone", "enableDynamicWorker")
    return any(str(item) == str(value) or (isinstance(item, str) and str(value) in item) for item in there)


def name_of(path: Path) -> str:
    return next(step for step in reversed(path) if isinstance(step, str))


def value_at(value: JSON, path: Path) -> JSON:
    for step in path:
        value = value[step]
    return value


# --- the test of the test -----------------------------------------------------------------------------------


def test_a_field_that_is_dropped_would_be_noticed(specs: Specs) -> None:
    family = FAMILIES[0]
    manifest = manifest_samples.a_manifest(family, specs[family.kind], Random(1))
    found = convert([manifest])
    without = Conversion(found.documents[:-1], (), 1)
    assert list(unaccounted(manifest, without, family))


def test_unknown_fields_are_told_of_one_by_one() -> None:
    replica = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}},
        "odd": 1,
    }
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j"},
        "spec": {"pytorchReplicaSpecs": {"Master": replica}, "new": {"a": [1], "b": None}},
        "more": "x",
    }
    lost = [
        finding.field for finding in convert([manifest]).findings if finding.verdict == "not carried over"
    ]
    assert lost == ["spec.pytorchReplicaSpecs.Master.odd", "spec.new.a[0]", "more"]


def test_host_names_of_pods_are_told_to_be_lost() -> None:
    pod = {"containers": [{"name": "pytorch", "image": "i"}], "hostname": "box", "subdomain": "shelf"}
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "j"},
        "spec": {"pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": {"spec": pod}}}},
    }
    found = convert([manifest]).findings
    lost = [finding.field.rpartition(".")[2] for finding in found if finding.verdict == "not carried over"]
    assert lost == ["hostname", "subdomain"]


def test_text_and_objects_convert_alike(specs: Specs) -> None:
    from trainshed.kube.documents import write_yaml

    for family in FAMILIES:
        manifest = manifest_samples.a_manifest(family, specs[family.kind], Random(7))
        made = texts.convert(write_yaml(manifest).decode())
        assert made.documents == convert([manifest]).documents
