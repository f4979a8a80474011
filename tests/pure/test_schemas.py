"""Definitions of the built-in kinds as generated from the installed packages, and the cache they live in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainshed.kinds.rows import ROWS
from trainshed.kinds.schemas import Schemas, packages, store
from trainshed.kube import schema
from trainshed.kube.objects import JSON, Object, decode

CORE = "io.k8s.api.core.v1"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
REFERENCE = "#/components/schemas/"


def field(schemas: Schemas, definition: str, name: str) -> Object:
    found: Object = schemas.definitions()[definition]["properties"][name]
    return found


def references(value: JSON) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for item in value.values():
            yield from references(item)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


# --- definitions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.resource)
def test_every_built_in_kind_has_a_definition_that_names_it(schemas: Schemas, row: JSON) -> None:
    gvk = {"group": row.group, "version": row.version, "kind": row.kind}
    assert schemas.definitions()[row.definition]["x-kubernetes-group-version-kind"] == [gvk]
    assert schemas.compiled(row.definition).properties.keys() >= {"apiVersion", "kind", "metadata"}


def test_every_reference_leads_to_a_definition(schemas: Schemas) -> None:
    definitions = schemas.definitions()
    targets = {target for name in definitions for target in references(definitions[name])}
    assert {target.removeprefix(REFERENCE) for target in targets} <= set(definitions)


def test_references_print_as_the_type_names_of_a_cluster(schemas: Schemas) -> None:
    assert field(schemas, f"{CORE}.Pod", "spec")["allOf"] == [{"$ref": f"{REFERENCE}{CORE}.PodSpec"}]
    containers = field(schemas, f"{CORE}.PodSpec", "containers")
    assert containers["items"] == {"$ref": f"{REFERENCE}{CORE}.Container"}
    limits = field(schemas, f"{CORE}.ResourceRequirements", "limits")["additionalProperties"]
    assert limits == {"$ref": f"{REFERENCE}io.k8s.apimachinery.pkg.api.resource.Quantity"}
    assert field(schemas, f"{META}.ObjectMeta", "creationTimestamp")["allOf"][0]["$ref"].endswith(".Time")
    assert field(schemas, f"{CORE}.Event", "eventTime")["allOf"][0]["$ref"].endswith(".MicroTime")
    assert field(schemas, "io.k8s.api.apps.v1.ControllerRevision", "data")["allOf"][0]["$ref"].endswith(
        ".RawExtension"
    )


def test_explain_finds_descriptions_needs_and_enumerations(schemas: Schemas) -> None:
    container = schemas.definitions()[f"{CORE}.Container"]
    assert container["description"]
    assert container["required"] == ["name"]
    policy = container["properties"]["imagePullPolicy"]
    assert policy["enum"] == ["Always", "IfNotPresent", "Never"]
    assert "\n\nPossible enum values:\n - `" in policy["description"]


@pytest.mark.parametrize(
    ("definition", "name", "facts"),
    [
        ("Container", "ports", {"x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                                "x-kubernetes-patch-merge-key": "containerPort"}),
        ("PodSpec", "volumes", {"x-kubernetes-patch-strategy": "merge,retainKeys",
                                "x-kubernetes-list-map-keys": ["name"]}),
        ("PodSpec", "nodeSelector", {"x-kubernetes-map-type": "atomic"}),
        ("PodSpec", "terminationGracePeriodSeconds", {"format": "int64"}),
        ("PodSpec", "priority", {"format": "int32"}),
        ("ServicePort", "protocol", {"default": "TCP"}),
        ("NodeSpec", "podCIDRs", {"x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"}),
    ],
)  # fmt: skip
def test_what_packages_lack_comes_from_the_table(
    schemas: Schemas, definition: str, name: str, facts: Object
) -> None:
    found = field(schemas, f"{CORE}.{definition}", name)
    assert {key: found.get(key) for key in facts} == facts


def test_a_definition_can_contain_itself(schemas: Schemas) -> None:
    compiled = schemas.compiled("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
    assert compiled.properties["not"] is compiled
    assert compiled.properties["properties"].additional is compiled
    assert schema.prune(compiled, {"not": {"bogus": 1}, "default": {"free": 1}}) == ["not.bogus"]


# --- compiled ---------------------------------------------------------------------------------------------


def test_compiled_schemas_check_the_shape_of_built_in_objects_and_leave_values_to_rules(
    schemas: Schemas,
) -> None:
    pod = schemas.compiled(f"{CORE}.Pod")
    loose = {"spec": {"containers": [{"image": "x", "imagePullPolicy": "Sometimes"}], "tolerations": [{}]}}
    assert schema.validate(pod, loose) == []
    wrong = {"spec": {"containers": [{"name": 7}], "bogus": True}}
    assert schema.prune(pod, wrong) == ["spec.bogus"]
    assert [error.field for error in schema.validate(pod, wrong)] == ["spec.containers[0].name"]


def test_built_in_objects_get_real_defaults_but_not_empty_ones(schemas: Schemas) -> None:
    pod = {"spec": {"imagePullSecrets": [{}], "containers": [{"ports": [{"containerPort": 80}]}]}}
    schema.default(schemas.compiled(f"{CORE}.Pod"), pod)
    assert pod["spec"]["imagePullSecrets"] == [{}]
    assert pod["spec"]["containers"] == [{"ports": [{"containerPort": 80, "protocol": "TCP"}]}]


def test_quantities_and_ports_may_be_numbers_or_strings(schemas: Schemas) -> None:
    container = schemas.compiled(f"{CORE}.Container")
    for amount in ("500m", 2, 0.5):
        assert schema.validate(container, {"name": "a", "resources": {"limits": {"cpu": amount}}}) == []
    service = schemas.compiled(f"{CORE}.ServicePort")
    assert schema.validate(service, {"port": 80, "targetPort": "http"}) == []
    assert schema.validate(service, {"port": 80, "targetPort": 8080}) == []


def test_a_compiled_schema_is_made_once(schemas: Schemas) -> None:
    assert schemas.compiled(f"{CORE}.Pod") is schemas.compiled(f"{CORE}.Pod")
    with pytest.raises(ValueError, match="leads nowhere"):
        schemas.compiled("io.k8s.api.core.v1.Nothing")


# --- cache ------------------------------------------------------------------------------------------------


def files(folder: Path) -> list[str]:
    return sorted(path.name.partition("-")[0] for path in folder.iterdir())


def test_generation_gives_the_same_bytes_every_time() -> None:
    found = [packages.find(*names) for names in packages.ALL]
    assert store.generate(found) == store.generate(found)


def test_a_second_start_reads_what_the_first_one_wrote(tmp_path: Path) -> None:
    Schemas.load(tmp_path)
    (kept,) = tmp_path.glob("definitions-*.json")
    kept.write_bytes(b'{"only.this": {"type": "object"}}')
    assert list(Schemas.load(tmp_path).definitions()) == ["only.this"]


@pytest.mark.parametrize("damage", [b"", b"[{", b"\xff\xfe"])
def test_a_broken_cache_is_made_again(
    schema_cache: Path, schemas: Schemas, tmp_path: Path, damage: bytes
) -> None:
    for path in schema_cache.iterdir():
        (tmp_path / path.name).write_bytes(damage)
    again = Schemas.load(tmp_path)
    assert dict(again.definitions()) == dict(schemas.definitions())
    assert again.crds() == schemas.crds()


def test_a_cache_that_loses_its_crds_gets_them_back(tmp_path: Path, schemas: Schemas) -> None:
    again = Schemas.load(tmp_path)
    for path in tmp_path.glob("crds-*.json"):
        path.unlink()
    assert again.crds() == schemas.crds()


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path, schemas: Schemas) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    found = Schemas.load(blocked / "cache")
    assert found.crds() == schemas.crds()
    assert len(found.definitions()) == len(schemas.definitions())


def test_processes_that_start_together_do_not_disturb_each_other(tmp_path: Path, schemas: Schemas) -> None:
    load = "Schemas.load(pathlib.Path(sys.argv[1]))"
    program = f"import pathlib, sys; from trainshed.kinds.schemas import Schemas; {load}"
    running = [subprocess.Popen([sys.executable, "-c", program, tmp_path]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert Schemas.load(tmp_path).crds() == schemas.crds()
    assert files(tmp_path) == ["crds", "definitions"]


def test_files_of_other_versions_are_removed(tmp_path: Path) -> None:
    (tmp_path / "definitions-0123456789abcdef.json").touch()
    (tmp_path / "keep.json").touch()
    Schemas.load(tmp_path)
    assert files(tmp_path) == ["crds", "definitions", "keep.json"]


def test_the_packages_are_read_and_never_imported(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys\n"
        "from trainshed.kinds.schemas import Schemas\n"
        f"Schemas.load(pathlib.Path({str(tmp_path)!r}))\n"
        "heavy = {'kubernetes', 'kubeflow', 'kubeflow_trainer_api', 'kubeflow_katib_api', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


def test_raw_definitions_are_the_same_as_decoded_ones(schemas: Schemas) -> None:
    definitions = schemas.definitions()
    name = f"{CORE}.PodSpec"
    assert name in definitions
    assert decode(definitions.raw(name)) == definitions[name]
