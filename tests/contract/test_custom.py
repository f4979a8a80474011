"""CustomResourceDefinitions: from creation to a served, checked, printed kind, to its end."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests import waits
from tests.builders import a_definition
from trainshed.client import requests
from trainshed.client.client import Client
from trainshed.client.failures import UnknownKind
from trainshed.client.requests import Resource, Write
from trainshed.kube.faults import (
    BadRequest,
    Fault,
    Invalid,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from trainshed.kube.objects import JSON, Object

SCHEMA: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "x-kubernetes-validations": [
                {"rule": "self.size <= self.most", "message": "size must not be more than most"},
            ],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "most": {"type": "integer", "default": 10},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "fixed": {
                    "type": "string",
                    "x-kubernetes-validations": [
                        {"rule": "self == oldSelf", "message": "fixed is immutable"}
                    ],
                },
                "port": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "parts": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
                    },
                },
                "replicas": {"type": "integer"},
            },
        },
        "status": {
            "type": "object",
            "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}},
        },
    },
}
COLUMNS = [
    {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]
SUBRESOURCES = {
    "status": {},
    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def widgets(client: Client) -> AsyncIterator[Resource]:
    """A custom kind, as long as this module's tests run."""
    group = f"g{secrets.token_hex(3)}.example.com"
    definition = a_definition(
        "widgets", "Widget", group, SCHEMA, additionalPrinterColumns=COLUMNS, subresources=SUBRESOURCES
    )
    definition["spec"]["names"] |= {"shortNames": ["wg"], "categories": ["contract"]}
    await client.create(definition)
    name = definition["metadata"]["name"]
    await waits.until(
        client, "customresourcedefinitions", name, lambda it: condition(it, "Established") == "True"
    )
    resource = Resource(group, "v1", "widgets", "Widget", namespaced=True)
    # Established is a promise that it will be served "in a moment", by every server of the cluster.
    await waits.eventually(lambda: client.list(resource), NotFound)
    yield resource
    await client.delete("customresourcedefinitions", name)
    await waits.until_gone(client, "customresourcedefinitions", name)


def condition(obj: Object, type: str) -> str:
    found = obj.get("status", {}).get("conditions") or []
    return next((item["status"] for item in found if item["type"] == type), "")


def a_widget(resource: Resource, name: str, **spec: JSON) -> Object:
    meta = {"name": name}
    return {
        "apiVersion": resource.api_version,
        "kind": "Widget",
        "metadata": meta,
        "spec": {"size": 1, **spec},
    }


class TestDefinition:
    async def test_its_status_tells_names_and_versions(self, client: Client, widgets: Resource) -> None:
        found = await client.get("customresourcedefinitions", str(widgets))
        assert condition(found, "NamesAccepted") == condition(found, "Established") == "True"
        assert found["status"]["acceptedNames"]["kind"] == "Widget"
        assert found["status"]["storedVersions"] == ["v1"]

    async def test_discovery_lists_the_kind_with_its_subresources(
        self, client: Client, widgets: Resource
    ) -> None:
        document = await client.call(requests.raw(widgets.base))
        by_name = {item["name"]: item for item in document["resources"]}
        assert set(by_name) == {"widgets", "widgets/status", "widgets/scale"}
        assert by_name["widgets"]["shortNames"] == ["wg"]
        assert (by_name["widgets/scale"]["group"], by_name["widgets/scale"]["kind"]) == (
            "autoscaling",
            "Scale",
        )

    async def test_its_words_are_understood(self, client: Client, widgets: Resource) -> None:
        async def look_up() -> None:
            assert await client.resource(f"wg.{widgets.group}") == widgets

        await waits.eventually(look_up, UnknownKind)

    async def test_openapi_describes_the_kind(self, client: Client, widgets: Resource) -> None:
        document = await waits.eventually(
            lambda: client.call(requests.raw(f"/openapi/v3/apis/{widgets.api_version}")), NotFound
        )
        reversed_group = ".".join(reversed(widgets.group.split(".")))
        schema = document["components"]["schemas"][f"{reversed_group}.v1.Widget"]
        assert schema["properties"]["spec"]["properties"]["color"]["enum"] == ["red", "blue"]
        assert {"group": widgets.group, "version": "v1", "kind": "Widget"} in schema[
            "x-kubernetes-group-version-kind"
        ]

    async def test_a_name_that_is_not_plural_and_group_is_refused(self, client: Client) -> None:
        definition = a_definition("things", "Thing", "example.com", {"type": "object"})
        definition["metadata"]["name"] = "other.example.com"
        with pytest.raises(
            Invalid, match=r'metadata\.name: Invalid value: "other\.example\.com": must be spec\.names'
        ):
            await client.create(definition)

    async def test_a_schema_that_is_not_structural_is_refused(self, client: Client, name: str) -> None:
        schema = {"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
        with pytest.raises(
            Invalid, match=r"properties\[spec\]\.type: Required value: must not be empty for specified"
        ):
            await client.create(a_definition("things", "Thing", f"{name}.example.com", schema))

    async def test_it_can_be_deleted_with_all_its_objects(self, client: Client, name: str) -> None:
        group = f"{name}.example.com"
        definition = await client.create(a_definition("gones", "Gone", group, {"type": "object"}))
        resource = Resource(group, "v1", "gones", "Gone", namespaced=True)
        gone = {"apiVersion": f"{group}/v1", "kind": "Gone", "metadata": {"name": name}}
        creating = requests.create(resource, gone, client.namespace)
        await waits.eventually(lambda: client.call(creating), NotFound)
        await client.delete("customresourcedefinitions", definition["metadata"]["name"])
        await waits.until_gone(client, "customresourcedefinitions", definition["metadata"]["name"])

        async def is_unknown() -> None:
            assert (await client.send(requests.list(resource, client.namespace))).code == 404

        await waits.eventually(is_unknown)


class TestLeavingDefinition:
    """A definition that is deleted while an object of its kind cannot go yet."""

    async def test_its_objects_take_changes_and_no_new_ones_come(self, client: Client, name: str) -> None:
        resource = await self._with_an_object(client, name, finalizers=["example.com/hold"])
        await client.delete("customresourcedefinitions", str(resource))
        await waits.until(client, str(resource), name, lambda it: it["metadata"].get("deletionTimestamp"))
        definition = await waits.until(
            client, "customresourcedefinitions", str(resource), lambda it: condition(it, "Terminating")
        )
        assert condition(definition, "Terminating") == "True"
        refusal = "create not allowed while custom resource definition is terminating"
        with pytest.raises(MethodNotAllowed, match=refusal):
            await client.create(a_widget(resource, f"{name}-late"))
        await client.patch(resource, name, {"metadata": {"finalizers": None}})
        await waits.until_gone(client, "customresourcedefinitions", str(resource))

    async def test_it_goes_although_none_of_its_versions_is_served(self, client: Client, name: str) -> None:
        resource = await self._with_an_object(client, name)
        unserved = [{"op": "replace", "path": "/spec/versions/0/served", "value": False}]
        await client.patch("customresourcedefinitions", str(resource), unserved, type="json")
        await client.delete("customresourcedefinitions", str(resource))
        await waits.until_gone(client, "customresourcedefinitions", str(resource))

    async def _with_an_object(self, client: Client, name: str, **meta: JSON) -> Resource:
        group = f"g{secrets.token_hex(3)}.example.com"
        await client.create(a_definition("widgets", "Widget", group, {"type": "object"}))
        resource = Resource(group, "v1", "widgets", "Widget", namespaced=True)
        widget = a_widget(resource, name)
        widget["metadata"] |= meta
        await waits.eventually(lambda: client.create(widget), NotFound, UnknownKind)
        return resource


class TestChangedSchema:
    """Objects stored before their definition got another schema."""

    async def test_they_are_read_in_the_new_shape_and_did_not_change(self, client: Client, name: str) -> None:
        group = f"g{secrets.token_hex(3)}.example.com"
        await client.create(a_definition("widgets", "Widget", group, self._schema(old={"type": "string"})))
        resource = Resource(group, "v1", "widgets", "Widget", namespaced=True)
        widget = a_widget(resource, name, old="x")
        made = await waits.eventually(lambda: client.create(widget), NotFound, UnknownKind)
        assert made["spec"] == {"size": 1, "old": "x"}
        schema = self._schema(new={"type": "integer", "default": 7})
        path = "/spec/versions/0/schema/openAPIV3Schema"
        change = [{"op": "replace", "path": path, "value": schema}]
        await client.patch("customresourcedefinitions", str(resource), change, type="json")
        found = await waits.until(client, str(resource), name, lambda it: "new" in it["spec"])
        assert found["spec"] == {"size": 1, "new": 7}
        assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
        assert [it["spec"] for it in (await client.list(resource)).items] == [{"size": 1, "new": 7}]
        labelled = await client.patch(resource, name, {"metadata": {"labels": {"a": "b"}}})
        assert labelled["spec"] == {"size": 1, "new": 7}
        assert labelled["metadata"]["generation"] == 1
        await client.delete("customresourcedefinitions", str(resource))

    def _schema(self, **fields: JSON) -> Object:
        spec = {"type": "object", "properties": {"size": {"type": "integer"}, **fields}}
        return {"type": "object", "properties": {"spec": spec}}


class TestCustomObjects:
    async def test_defaults_are_filled_in(self, client: Client, widgets: Resource, name: str) -> None:
        made = await client.create(a_widget(widgets, name))
        assert made["spec"] == {"size": 1, "most": 10, "color": "red"}
        assert made["metadata"]["generation"] == 1

    async def test_unknown_fields_are_pruned_except_where_wanted(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        made = await client.create(a_widget(widgets, name, bogus=1, free={"any": {"thing": 1}}))
        assert "bogus" not in made["spec"]
        assert made["spec"]["free"] == {"any": {"thing": 1}}

    async def test_items_of_a_list_carry_their_type(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        await client.create(a_widget(widgets, name))
        page = await client.list_page(widgets)
        assert page["kind"] == "WidgetList"
        assert {(item["apiVersion"], item["kind"]) for item in page["items"]} == {
            (widgets.api_version, "Widget")
        }

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (
                {"size": 0},
                "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            ),
            (
                {"size": "one"},
                'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
            ),
            ({"color": "green"}, 'spec.color: Unsupported value: "green": supported values: "red", "blue"'),
            ({"size": 11}, 'spec: Invalid value: "object": size must not be more than most'),
            (
                {"port": True},
                'spec.port: Invalid value: "boolean": '
                'spec.port in body must be of type integer,string: "boolean"',
            ),
        ],
    )
    async def test_each_broken_rule_is_told(
        self, client: Client, widgets: Resource, name: str, spec: Object, message: str
    ) -> None:
        with pytest.raises(Invalid) as refused:
            await client.create(a_widget(widgets, name, **spec))
        assert message in [f"{cause.field}: {cause.message}" for cause in refused.value.causes]
        assert (refused.value.kind, refused.value.group, refused.value.name) == (
            "Widget",
            widgets.group,
            name,
        )

    async def test_keys_of_a_keyed_list_are_unique(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        with pytest.raises(Invalid) as refused:
            await client.create(a_widget(widgets, name, parts=[{"name": "a"}, {"name": "a"}]))
        (cause,) = refused.value.causes
        assert (cause.reason, cause.field) == ("FieldValueDuplicate", "spec.parts[1]")

    async def test_a_required_field_is_required(self, client: Client, widgets: Resource, name: str) -> None:
        widget = a_widget(widgets, name)
        del widget["spec"]["size"]
        with pytest.raises(Invalid) as refused:
            await client.create(widget)
        assert refused.value.message.startswith(f'Widget.{widgets.group} "{name}" is invalid: ')
        assert "spec.size: Required value" in refused.value.message

    async def test_a_transition_rule_holds_on_update_only(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        made = await client.create(a_widget(widgets, name, fixed="a"))
        with pytest.raises(Invalid, match=r'spec\.fixed: Invalid value: "string": fixed is immutable'):
            await client.replace({**made, "spec": {**made["spec"], "fixed": "b"}})

    async def test_a_replacement_needs_a_resource_version(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        await client.create(a_widget(widgets, name))
        with pytest.raises(
            Invalid, match=r"metadata\.resourceVersion: Invalid value: 0x0: must be specified"
        ):
            await client.replace(a_widget(widgets, name, size=2))

    async def test_int_or_string_keeps_what_was_sent(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        for value in (80, "http"):
            made = await client.create(a_widget(widgets, f"{name}-{value}", port=value))
            assert made["spec"]["port"] == value

    async def test_strategic_patches_are_unsupported(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        await client.create(a_widget(widgets, name))
        with pytest.raises(UnsupportedMediaType) as refused:
            await client.patch(widgets, name, {"spec": {"size": 2}}, type="strategic")
        assert refused.value.message == (
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        )

    async def test_apply_merges_keyed_lists(self, client: Client, widgets: Resource, name: str) -> None:
        for manager in ("a", "b"):
            widget = a_widget(widgets, name, parts=[{"name": manager, "weight": 1}])
            after = await client.apply(widget, write=Write(manager=manager))
        assert [part["name"] for part in after["spec"]["parts"]] == ["a", "b"]

    async def test_strict_validation_names_unknown_fields(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        with pytest.raises(BadRequest) as refused:
            await client.create(a_widget(widgets, name, bogus=1), write=Write(validation="Strict"))
        assert refused.value.message == (
            'Widget in version "v1" cannot be handled as a Widget: '
            'strict decoding error: unknown field "spec.bogus"'
        )


class TestCustomSubresources:
    async def test_the_status_is_written_separately(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        made = await client.create({**a_widget(widgets, name), "status": {"phase": "Early"}})
        assert "status" not in made
        after = await client.write_status({**made, "spec": {"size": 5}, "status": {"phase": "Done"}})
        assert (after["spec"]["size"], after["status"]) == (1, {"phase": "Done"})
        assert after["metadata"]["generation"] == 1

    async def test_a_change_of_the_spec_counts_a_generation(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        await client.create(a_widget(widgets, name))
        after = await client.patch(widgets, name, {"spec": {"size": 2}})
        assert after["metadata"]["generation"] == 2

    async def test_scale_reads_and_writes_the_replicas(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        await client.create(a_widget(widgets, name, replicas=2))
        scale = await client.get(widgets, name, subresource="scale")
        assert (scale["kind"], scale["apiVersion"], scale["spec"]) == (
            "Scale",
            "autoscaling/v1",
            {"replicas": 2},
        )
        await client.patch(widgets, name, {"spec": {"replicas": 3}}, subresource="scale")
        assert (await client.get(widgets, name))["spec"]["replicas"] == 3


class TestCustomTables:
    async def test_columns_and_cells_follow_the_definition(
        self, client: Client, widgets: Resource, name: str
    ) -> None:
        await client.create(a_widget(widgets, name, size=7))
        request = requests.get(widgets, name, client.namespace)
        table = await client.call(
            request.accepting("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
        )
        columns = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
        assert columns == [("Name", 0), ("Size", 0), ("Color", 1), ("Age", 0)]
        assert table["rows"][0]["cells"][:3] == [name, 7, "red"]


class TestCustomNames:
    async def test_a_bad_name_is_refused(self, client: Client, widgets: Resource) -> None:
        with pytest.raises(
            Fault, match=r'metadata\.name: Invalid value: "Bad": a lowercase RFC 1123 subdomain'
        ):
            await client.create(a_widget(widgets, "Bad"))
