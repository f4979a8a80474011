"""Unknown fields and the three levels of telling about them; warnings; names and sizes."""

from __future__ import annotations

import pytest

from tests.builders import a_config_map, a_namespace, a_waiting_pod
from trainshed.client import answers, requests
from trainshed.client.client import Client
from trainshed.client.requests import Request, Resource, Validation, Write
from trainshed.kube.faults import BadRequest, Fault, Invalid, TooLarge
from trainshed.kube.objects import JSON, Object

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)


async def creation(client: Client, obj: Object, validation: Validation = "") -> answers.Answer:
    resource = await client.resource_of(obj)
    return await client.send(requests.create(resource, obj, client.namespace, Write(validation=validation)))


class TestFieldValidation:
    async def test_strict_refuses_unknown_fields(self, client: Client, name: str) -> None:
        with pytest.raises(BadRequest) as refused:
            answers.read(await creation(client, {**a_config_map(name), "bogus": 1}, "Strict"))
        assert refused.value.message == (
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
            'strict decoding error: unknown field "bogus"'
        )

    async def test_strict_names_all_of_them_with_their_paths(self, client: Client, name: str) -> None:
        pod = a_waiting_pod(name)
        pod["spec"]["one"] = pod["spec"]["containers"][0]["two"] = 1
        with pytest.raises(BadRequest) as refused:
            answers.read(await creation(client, pod, "Strict"))
        assert 'unknown field "spec.containers[0].two"' in refused.value.message
        assert 'unknown field "spec.one"' in refused.value.message

    async def test_strict_refuses_a_key_given_twice(self, client: Client, name: str) -> None:
        body = f'{{"metadata": {{"name": "{name}"}}, "data": {{"a": "1", "a": "2"}}}}'.encode()
        request = requests.create(
            await client.resource("configmaps"), {}, client.namespace, Write(validation="Strict")
        )
        sent = Request(request.method, request.path, request.query, request.headers, body)
        with pytest.raises(BadRequest, match=r'strict decoding error: duplicate field "data.a"'):
            await client.call(sent)

    async def test_warn_accepts_prunes_and_warns(self, client: Client, name: str) -> None:
        answer = await creation(client, {**a_config_map(name), "bogus": 1}, "Warn")
        assert "bogus" not in answers.read(answer)
        assert list(answers.warnings(answer.headers)) == ['unknown field "bogus"']

    async def test_warn_is_the_default(self, client: Client, name: str) -> None:
        answer = await creation(client, {**a_config_map(name), "bogus": 1})
        assert list(answers.warnings(answer.headers)) == ['unknown field "bogus"']

    async def test_ignore_prunes_in_silence(self, client: Client, name: str) -> None:
        answer = await creation(client, {**a_config_map(name), "bogus": 1}, "Ignore")
        assert (answer.code, list(answers.warnings(answer.headers))) == (201, [])

    async def test_another_level_is_refused(self, client: Client, name: str) -> None:
        resource = await client.resource("configmaps")
        sent = requests.create(resource, a_config_map(name), client.namespace)
        odd = Request(sent.method, sent.path, (("fieldValidation", "Maybe"),), sent.headers, sent.body)
        with pytest.raises(
            Invalid,
            match=r'fieldValidation: Invalid value: "Maybe"|fieldValidation: Unsupported value: "Maybe"',
        ):
            await client.call(odd)

    async def test_strict_holds_for_patches_too(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name))
        with pytest.raises(Fault, match='strict decoding error: unknown field "bogus"'):
            await client.patch("configmaps", name, {"bogus": 1}, write=Write(validation="Strict"))


class TestTypes:
    async def test_a_number_where_text_belongs_is_a_bad_request(self, client: Client, name: str) -> None:
        broken = {**a_config_map(name), "data": {"a": 1}}
        with pytest.raises(
            BadRequest, match=r'^ConfigMap in version "v1" cannot be handled as a ConfigMap: '
        ):
            await client.create(broken)

    async def test_a_text_where_an_object_belongs_is_a_bad_request(self, client: Client, name: str) -> None:
        with pytest.raises(BadRequest, match="cannot be handled as a ConfigMap"):
            await client.create({**a_config_map(name), "data": "text"})

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("labels", []), ("annotations", "x"), ("generation", "x"), ("creationTimestamp", "yesterday"),
            ("finalizers", {}), ("ownerReferences", {}), ("name", 5), ("uid", 5), ("generateName", []),
            ("deletionTimestamp", 5), ("deletionGracePeriodSeconds", "1"), ("managedFields", {}),
        ],
    )  # fmt: skip
    async def test_metadata_of_the_wrong_type_is_a_bad_request(
        self, client: Client, name: str, field: str, value: JSON
    ) -> None:
        broken = a_config_map(name)
        broken["metadata"][field] = value
        why = r"cannot be handled as a ConfigMap: (json: cannot|parsing time)"
        with pytest.raises(BadRequest, match=why):
            await client.call(requests.create(CONFIG_MAPS, broken, client.namespace))

    @pytest.mark.parametrize("field", ["apiVersion", "kind"])
    @pytest.mark.parametrize("value", [[], {}, 0, False])
    async def test_a_type_that_is_no_text_is_a_bad_request(
        self, client: Client, name: str, field: str, value: JSON
    ) -> None:
        broken = {**a_config_map(name), field: value}
        with pytest.raises(BadRequest, match=f"cannot unmarshal .* Go struct field .*{field} of type string"):
            await client.call(requests.create(CONFIG_MAPS, broken, client.namespace))

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("serviceAccountName", [1]), ("serviceAccountName", {}), ("priorityClassName", [1]),
            ("priority", "high"), ("overhead", []), ("tolerations", "all"), ("volumes", {"data": "/data"}),
        ],
    )  # fmt: skip
    async def test_a_wrong_type_is_a_bad_request_also_where_the_server_fills_in(
        self, client: Client, name: str, field: str, value: JSON
    ) -> None:
        broken = a_waiting_pod(name)
        broken["spec"][field] = value
        with pytest.raises(BadRequest, match=f"cannot be handled as a Pod: .*{field}"):
            await client.create(broken)

    async def test_variables_written_as_an_object_are_a_bad_request(self, client: Client, name: str) -> None:
        broken = a_waiting_pod(name)
        broken["spec"]["containers"][0]["env"] = {"EPOCHS": "3"}
        with pytest.raises(BadRequest, match=r"cannot be handled as a Pod: .*env"):
            await client.create(broken)

    async def test_null_is_the_same_as_absent(self, client: Client, name: str) -> None:
        made = await client.create({**a_config_map(name), "data": None})
        assert made.get("data") is None


class TestNames:
    @pytest.mark.parametrize("bad", ["Upper", "under_score", "-a", "a-", "a..b", "é"])
    async def test_a_name_is_a_subdomain(self, client: Client, bad: str) -> None:
        with pytest.raises(Invalid) as refused:
            await client.create(a_config_map(bad))
        assert refused.value.message == (
            f'ConfigMap "{bad}" is invalid: metadata.name: Invalid value: "{bad}": a lowercase RFC 1123 '
            "subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
            "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )

    async def test_a_name_may_have_253_characters(self, client: Client, name: str) -> None:
        await client.create(a_config_map(name.ljust(253, "x")))
        with pytest.raises(Invalid, match="must be no more than 253 characters"):
            await client.create(a_config_map(name.ljust(254, "x")))

    async def test_a_namespace_name_is_a_label_of_63_characters(self, client: Client, name: str) -> None:
        for bad, why in {"a.b": "must not contain dots", "x" * 64: "must be no more than 63"}.items():
            with pytest.raises(Invalid, match=why):
                await client.create(a_namespace(bad))

    async def test_label_keys_and_values_have_a_form(self, client: Client, name: str) -> None:
        with pytest.raises(Invalid) as refused:
            await client.create(a_config_map(name, labels={"bad key": "x", "ok": "bad value"}))
        assert [cause.field for cause in refused.value.causes] == ["metadata.labels", "metadata.labels"]

    async def test_annotations_may_have_256_kibibytes(self, client: Client, name: str) -> None:
        with pytest.raises(
            Invalid, match=r"metadata\.annotations: Too long: may not be more than 262144 bytes"
        ):
            await client.create(a_config_map(name, annotations={"a": "x" * 262144}))


class TestSizes:
    async def test_a_body_of_more_than_3_mebibytes_is_too_large(self, client: Client, name: str) -> None:
        with pytest.raises(TooLarge, match="Request entity too large: limit is 3145728"):
            await client.create(a_config_map(name, {"a": "x" * 3_200_000}))

    async def test_a_config_map_may_have_a_mebibyte(self, client: Client, name: str) -> None:
        with pytest.raises(Invalid, match="Too long: may not be more than 1048576 bytes"):
            await client.create(a_config_map(name, {"a": "x" * 1_048_577}))


class TestWarnings:
    async def test_a_deprecated_setting_is_accepted_with_a_warning(self, client: Client, name: str) -> None:
        pod = a_waiting_pod(name, annotations={"scheduler.alpha.kubernetes.io/critical-pod": ""})
        (warning,) = answers.warnings((await creation(client, pod)).headers)
        assert "scheduler.alpha.kubernetes.io/critical-pod" in warning

    async def test_an_env_variable_given_twice_warns(self, client: Client, name: str) -> None:
        pod = a_waiting_pod(name)
        pod["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
        (warning,) = answers.warnings((await creation(client, pod)).headers)
        assert warning == (
            'spec.containers[0].env[1]: hides previous definition of "A", '
            "which may be dropped when using apply"
        )
