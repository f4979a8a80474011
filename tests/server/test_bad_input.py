"""Whatever is sent, it is answered, never with a failure of the server's own, and nothing is half done."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.builders import a_config_map, a_pod_spec
from tests.server.answers import sound
from tests.server.asking import a_deployment, made
from tests.server.mutations import PATCH_TYPES, Sent
from tests.server.nonsense import BAD_DELETES, BAD_READS, GARBAGE, HARMLESS, NAMES, PATCHES
from tests.server.wire import Wire
from tests.servers import Cluster, Server
from trainshed.kube.objects import JSON, Object, encode

MAX_BODY = 3 * 1024 * 1024
thorough = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4)
)


@pytest.fixture
def maps(wire: Wire, space: str) -> Iterator[str]:
    """The path of a collection of ConfigMaps; what ends up in it can still be read and written back."""
    path = f"/api/v1/namespaces/{space}/configmaps"
    yield path
    for item in wire.ask("GET", path).object()["items"]:
        one = f"{path}/{quote(item['metadata']['name'])}"
        read = wire.ask("GET", one)
        assert wire.ask("PUT", one, read.body).body == read.body


class TestBodies:
    @thorough
    @given(body=values)
    def test_any_json_is_taken_or_refused(self, wire: Wire, maps: str, body: JSON) -> None:
        assert sound(wire, Sent("POST", maps, encode(body))).code in (400, 422)

    @thorough
    @given(data=st.binary(max_size=200), type=st.sampled_from(["json", "yaml", "vnd.kubernetes.protobuf"]))
    @example(data=b"k8s\x00", type="vnd.kubernetes.protobuf")
    @example(data=b"k8s\x00\x0a\xff\xff\xff\xff\x7f", type="vnd.kubernetes.protobuf")
    @example(data=b"&a [*a, *a]", type="yaml")
    @example(data=b"!!python/object/apply:os.system [id]", type="yaml")
    def test_any_bytes_are_taken_or_refused(self, wire: Wire, maps: str, data: bytes, type: str) -> None:
        assert sound(wire, Sent("POST", maps, data, f"application/{type}")).code in (400, 415, 422)

    @thorough
    @given(field=st.sampled_from(["metadata", "data", "binaryData", "immutable"]), value=values)
    def test_any_value_in_any_field_is_taken_or_refused(
        self, wire: Wire, maps: str, field: str, value: JSON
    ) -> None:
        body = {**a_config_map("x", generateName="x-"), field: value}
        assert sound(wire, Sent("POST", f"{maps}?dryRun=All", encode(body))).code in (201, 400, 422)

    @thorough
    @given(
        value=values,
        path=st.lists(
            st.sampled_from(["containers", "0", "env", "ports", "resources", "volumes"]), max_size=4
        ),
    )
    def test_any_value_inside_a_pod_is_taken_or_refused(
        self, wire: Wire, space: str, value: JSON, path: list[str]
    ) -> None:
        spec: JSON = value
        for step in reversed(path):
            spec = [spec] if step == "0" else {step: spec}
        whole = a_pod_spec() | spec if isinstance(spec, dict) else spec
        target = f"/api/v1/namespaces/{space}/pods?dryRun=All"
        assert (
            sound(wire, Sent("POST", target, encode({"metadata": {"name": "p"}, "spec": whole}))).code < 500
        )

    @pytest.mark.parametrize("levels", [101, 10_000, 500_000])
    @pytest.mark.parametrize("inside", ["data", "metadata", "nope"])
    def test_deep_nesting_is_refused(self, wire: Wire, maps: str, levels: int, inside: str) -> None:
        deep = b'{"metadata":{"name":"deep"},"%b":' % inside.encode() + b"[" * levels + b"]" * levels + b"}"
        for type in ("application/json", "application/yaml"):
            refused = sound(wire, Sent("POST", maps, deep if type.endswith("json") else deep[:150_000], type))
            assert refused.code == 400

    def test_yaml_that_grows_when_read_is_refused(self, wire: Wire, maps: str) -> None:
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 20)]
        assert sound(wire, Sent("POST", maps, "\n".join(lines).encode(), "application/yaml")).code == 400

    @pytest.mark.parametrize(
        "number", ["1e400", "-1e400", "1" + "0" * 5000, "0." + "0" * 5000 + "1", "NaN", "-Infinity"]
    )
    def test_numbers_beyond_reach_are_taken_or_refused(self, wire: Wire, maps: str, number: str) -> None:
        body = b'{"metadata":{"name":"n"},"data":{"a":%b}}' % number.encode()
        assert sound(wire, Sent("POST", maps, body)).code == 400
        group = "/apis/scheduling.k8s.io/v1/priorityclasses"
        assert (
            sound(wire, Sent("POST", group, b'{"metadata":{"name":"n"},"value":%b}' % number.encode())).code
            < 500
        )


class TestSizes:
    def test_a_body_over_the_limit_is_refused_by_its_announcement_alone(self, wire: Wire, maps: str) -> None:
        wire.send(_head(wire, "POST", maps, f"Content-Length: {MAX_BODY + 1}"))
        assert wire.reply().object()["reason"] == "RequestEntityTooLarge"
        wire.reconnect()

    def test_a_body_that_grows_over_the_limit_is_refused_when_it_does(self, wire: Wire, maps: str) -> None:
        wire.send(_head(wire, "POST", maps, "Transfer-Encoding: chunked"))
        chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
        for _ in range(MAX_BODY // 65536 + 1):
            wire.send(chunk)
        wire.send(b"0\r\n\r\n")
        assert (wire.reply().code, wire.ask("GET", "/readyz").code) == (413, 200)

    def test_a_body_at_the_limit_is_read(self, wire: Wire, maps: str) -> None:
        start = encode(a_config_map("big", {"a": "b"}))
        assert wire.ask("POST", maps, start + b" " * (MAX_BODY - len(start))).code == 201

    def test_an_object_that_is_too_large_to_keep_is_refused(self, wire: Wire, maps: str) -> None:
        refused = sound(wire, Sent("POST", maps, encode(a_config_map("fat", {"a": "x" * 2_000_000}))))
        assert refused.code == 422
        assert "Too long: may not be more than 1048576 bytes" in refused.text

    @pytest.mark.parametrize(
        "header", ["X-Long", "Accept", "User-Agent", "Impersonate-Group", "Content-Type", "Authorization"]
    )
    def test_long_headers_are_taken_or_refused(self, wire: Wire, header: str) -> None:
        reply = wire.ask("GET", "/api/v1/namespaces", headers={header: "x" * 60_000})
        assert reply.code in (200, 400, 401, 403, 406)
        assert wire.ask("GET", "/api", headers={header: "x" * 1_000_000}).code in (400, 431)

    def test_a_long_query_is_taken_or_refused(self, wire: Wire, maps: str) -> None:
        selector = ",".join(f"key-{number}=x" for number in range(4000))
        assert sound(wire, Sent("GET", f"{maps}?labelSelector={selector}")).code == 200
        assert wire.ask("GET", f"{maps}?labelSelector={selector}{selector}").code == 400
        assert sound(wire, Sent("GET", f"{maps}?{'a&' * 5000}")).code == 400


class TestNamesAndPaths:
    @pytest.mark.parametrize("name", NAMES)
    def test_a_bad_name_is_refused_wherever_it_stands(self, wire: Wire, maps: str, name: str) -> None:
        assert sound(wire, Sent("POST", maps, encode(a_config_map(name)))).code == 422
        one = f"{maps}/{quote(name, safe='')}"
        for method in ("GET", "DELETE") if name not in ("", ".", "..") else ():
            assert sound(wire, Sent(method, one)).code == 404
        assert sound(wire, Sent("PUT", one, encode(a_config_map(name)))).code in (404, 405, 422)
        patch = Sent(
            "PATCH", f"{one}?fieldManager=x", encode(a_config_map(name)), "application/apply-patch+yaml"
        )
        assert sound(wire, patch).code in (400, 404, 405, 422)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_bad_namespace_is_refused_wherever_it_stands(self, wire: Wire, name: str) -> None:
        assert (
            sound(wire, Sent("POST", "/api/v1/namespaces", encode({"metadata": {"name": name}}))).code == 422
        )
        path = f"/api/v1/namespaces/{quote(name, safe='')}/configmaps"
        assert sound(wire, Sent("POST", path, encode(a_config_map("a")))).code in (400, 403, 404, 405)

    @thorough
    @given(tail=st.text(st.characters(codec="latin-1", exclude_characters="\r\n\x00? #"), max_size=60))
    @example(tail="%2e%2e/secrets")
    @example(tail="..%2f..%2fsecrets")
    @example(tail="%00")
    @example(tail="%c0%af")
    @example(tail="%u0041")
    @example(tail="a%")
    @example(tail="/" * 60)
    def test_any_path_is_answered(self, wire: Wire, maps: str, tail: str) -> None:
        target = f"{maps}/{quote(tail, safe='%/.;:@&=+$,!~*()')}"
        assert sound(wire, Sent("GET", target)).code in (200, 400, 404, 405)

    def test_escapes_do_not_lead_to_another_place(self, wire: Wire, space: str, maps: str) -> None:
        wire.ask("POST", f"/api/v1/namespaces/{space}/secrets", {"metadata": {"name": "s"}})
        for detour in ("..%2Fsecrets/s", "%2e%2e/secrets/s", "../secrets/s", "x/..%2f..%2fsecrets%2fs"):
            assert wire.ask("GET", f"{maps}/{detour}").code == 404


class TestQueries:
    @pytest.mark.parametrize(
        "query",
        BAD_READS,
    )  # fmt: skip
    def test_a_bad_list_or_watch_is_refused_or_answered(self, wire: Wire, maps: str, query: str) -> None:
        accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"} if "include" in query else None
        reply = sound(wire, Sent("GET", f"{maps}?{query}"), accept)
        assert reply.code in (400, 422, 504, *((200,) if query in HARMLESS else ())), reply.text

    @thorough
    @given(name=st.sampled_from(["labelSelector", "fieldSelector", "continue", "resourceVersion", "limit",
    "timeoutSeconds"]),
           value=words, watch=st.booleans())  # fmt: skip
    def test_any_parameter_is_answered(
        self, wire: Wire, maps: str, name: str, value: str, watch: bool
    ) -> None:
        sound(wire, Sent("GET", f"{maps}?{name}={quote(value)}" + ("&watch=true" if watch else "")))

    @pytest.mark.parametrize(
        "query",
        [
            "dryRun=x",
            "dryRun=All&dryRun=x",
            "fieldValidation=x",
            "fieldManager=" + "x" * 129,
            "fieldManager=%00",
        ],
    )
    def test_bad_write_options_are_refused_before_anything_is_written(
        self, wire: Wire, maps: str, query: str
    ) -> None:
        assert sound(wire, Sent("POST", f"{maps}?{query}", encode(a_config_map("w")))).code == 422
        assert wire.ask("GET", f"{maps}/w").code == 404

    @pytest.mark.parametrize(
        "options",
        BAD_DELETES,
    )  # fmt: skip
    def test_bad_delete_options_delete_nothing(self, wire: Wire, maps: str, options: JSON) -> None:
        wire.ask("POST", maps, a_config_map("d"))
        assert sound(wire, Sent("DELETE", f"{maps}/d", encode(options))).code in (400, 409, 422)
        assert wire.ask("GET", f"{maps}/d").code == 200


class TestPatches:
    @pytest.mark.parametrize(
        ("form", "patch"), PATCHES, ids=[f"{form}-{n}" for n, (form, _) in enumerate(PATCHES)]
    )
    def test_a_bad_patch_changes_nothing(self, wire: Wire, maps: str, form: str, patch: JSON) -> None:
        made = wire.ask("POST", maps, a_config_map("p", {"a": "1"}))
        reply = sound(wire, Sent("PATCH", f"{maps}/p?fieldManager=x", encode(patch), f"application/{form}"))
        assert reply.code in (400, 409, 413, 415, 422), reply.text
        assert wire.ask("GET", f"{maps}/p").body == made.body

    @thorough
    @given(
        patch=values | st.dictionaries(st.sampled_from(["metadata", "data", "kind", "$patch"]), values),
        form=st.sampled_from(PATCH_TYPES),
    )
    def test_any_patch_is_taken_or_refused(self, wire: Wire, maps: str, patch: JSON, form: str) -> None:
        wire.ask("POST", maps, a_config_map("any", {"a": "1"}))
        sound(wire, Sent("PATCH", f"{maps}/any?fieldManager=x", encode(patch), form))

    @thorough
    @given(status=values)
    def test_any_status_is_taken_or_refused(self, wire: Wire, space: str, status: JSON) -> None:
        jobs = f"/apis/batch/v1/namespaces/{space}/jobs"
        wire.ask(
            "POST",
            jobs,
            {"metadata": {"name": "j"}, "spec": {"template": {"spec": a_pod_spec(restartPolicy="Never")}}},
        )
        sound(
            wire,
            Sent("PATCH", f"{jobs}/j/status", encode({"status": status}), "application/merge-patch+json"),
        )


class TestCredentials:
    @thorough
    @given(value=st.binary(max_size=80).filter(lambda found: not set(found) & set(b"\r\n\x00")))
    @example(value=b"Bearer")
    @example(value=b"Bearer  ")
    @example(value=b"Bearer a.b.c")
    @example(value=b"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.")
    @example(value=b"Basic YWRtaW46YWRtaW4=")
    @example(value=b"Bearer " + b"." * 70)
    @example(value=b"Bearer \xff\xfe")
    def test_any_authorization_but_the_right_one_is_401(self, wire: Wire, value: bytes) -> None:
        wire.token = ""
        text = value.decode("utf-8", "surrogateescape")
        reply = wire.ask("GET", "/api/v1/namespaces", headers={"Authorization": text})
        # Bytes that HTTP itself forbids in a header never get as far as the token.
        assert reply.code == 401 or (reply.code == 400 and any(byte < 32 or byte == 127 for byte in value))

    @pytest.mark.parametrize(
        "header",
        [
            "Impersonate-User",
            "Impersonate-Group",
            "Impersonate-Uid",
            "Impersonate-Extra-%zz",
            "Impersonate-Nope",
        ],
    )
    @pytest.mark.parametrize(
        "value", ["", " ", "x" * 10_000, "\u00ff", "a,b", "system:masters", "system:serviceaccount:", "%00"]
    )
    def test_odd_impersonation_is_answered(self, wire: Wire, header: str, value: str) -> None:
        assert wire.ask("GET", "/api/v1/namespaces", headers={header: value}).code in (200, 400, 403)


class TestSockets:
    @pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
    def test_what_is_not_http_is_refused_and_closed(self, wire: Wire, garbage: bytes) -> None:
        wire.send(garbage)
        assert wire.reply().code == 400

    def test_chunks_that_are_none_are_refused_and_nothing_is_made(self, wire: Wire, maps: str) -> None:
        wire.send(
            _head(wire, "POST", maps, "Transfer-Encoding: chunked") + b"zz\r\n" + encode(a_config_map("c"))
        )
        assert wire.reply().code == 400
        assert wire.ask("GET", f"{maps}/c").code == 404

    @pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
    def test_a_client_that_leaves_in_the_middle_makes_nothing_half(
        self, provoked: Cluster, wire: Wire, maps: str, share: float
    ) -> None:
        body = encode(a_config_map("half", {"a": "x" * 50_000}))
        request = _head(wire, "POST", maps, f"Content-Length: {len(body)}") + body
        with Wire(provoked.config()) as leaver:
            leaver.send(request[: int(len(request) * share)])
            leaver.socket.shutdown(socket.SHUT_RDWR)
        found = wire.ask("GET", f"{maps}/half")
        assert found.code == 404 or (share == 1.0 and found.object()["data"] == {"a": "x" * 50_000})

    def test_a_client_that_resets_in_the_middle_of_an_answer_harms_nobody(
        self, provoked: Cluster, wire: Wire
    ) -> None:
        for _ in range(20):
            with Wire(provoked.config()) as leaver:
                linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
                leaver.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                leaver.send(_head(wire, "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"))
                leaver.socket.recv(100)

    def test_bytes_without_tls_are_not_answered(self, provoked: Cluster, wire: Wire) -> None:
        where = urlsplit(provoked.config().server)
        for bytes_ in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x00\x05hello", b"\x00"):
            with socket.create_connection((where.hostname, where.port), timeout=20) as plain:
                plain.sendall(bytes_)
                plain.shutdown(socket.SHUT_WR)
                assert not plain.recv(1000).startswith(b"HTTP")

    def test_many_half_requests_do_not_delay_whole_ones(
        self, provoked: Cluster, wire: Wire, server: Server
    ) -> None:
        waiting = [Wire(provoked.config()) for _ in range(200)]
        try:
            for number, half in enumerate(waiting):
                half.send(
                    _head(wire, "POST", "/api/v1/namespaces", "Content-Length: 100")[
                        : None if number % 2 else 40
                    ]
                )
            assert all(wire.ask("GET", "/api/v1/namespaces").code == 200 for _ in range(50))
        finally:
            for half in waiting:
                half.close()

    def test_two_requests_at_once_are_answered_in_order(self, wire: Wire, maps: str) -> None:
        first, second = encode(a_config_map("one")), encode(a_config_map("two"))
        wire.send(
            _head(wire, "POST", maps, f"Content-Length: {len(first)}") + first
            + _head(wire, "POST", maps, f"Content-Length: {len(second)}") + second
        )  # fmt: skip
        assert [wire.reply().object()["metadata"]["name"] for _ in range(2)] == ["one", "two"]

    @pytest.mark.parametrize("upgrade", ["h2c", "SPDY/3.1", "websocket", "nope"])
    def test_an_upgrade_that_is_not_offered_is_answered(self, wire: Wire, maps: str, upgrade: str) -> None:
        fields = {"Connection": "Upgrade", "Upgrade": upgrade}
        assert wire.ask("GET", maps, headers=fields).code in (200, 400)
        assert wire.ask("POST", maps, a_config_map("up"), headers=fields).code in (201, 400)


def _head(wire: Wire, method: str, target: str, *fields: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: x", f"Authorization: Bearer {wire.token}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


class TestGrowth:
    def test_patches_do_not_add_up_without_end(self, wire: Wire, space: str) -> None:
        path = f"/apis/apps/v1/namespaces/{space}/deployments"
        made(wire, path, a_deployment("some", containers=[{"name": "main", "image": "some", "env": []}]))
        codes = []
        for number in range(4):
            part = {"name": f"PART_{number}", "value": "x" * (MAX_BODY // 3)}
            place = "/spec/template/spec/containers/0/env"
            growing: Object = {"op": "add", "path": f"{place}/-", "value": part}
            if not number:
                growing |= {"path": place, "value": [part]}
            codes.append(wire.ask("PATCH", f"{path}/some", [growing], "application/json-patch+json").code)
        assert codes == [200, 200, 413, 413]
        assert wire.ask("DELETE", f"{path}/some").code == 200
