"""Who gets past which door: every route and verb without a token, with a powerless and with a spoiled one."""

from __future__ import annotations

import base64
import secrets
import socket
import time
from collections.abc import Iterator, Sequence

import pytest

from tests.builders import a_pod_spec, a_waiting_pod
from tests.server.accounts import token_for
from tests.server.routes import DOCUMENTS, PUBLIC, Route
from tests.server.wire import SOCKET, Reply, Wire
from tests.servers import Cluster, Server
from trainshed.aio import unixsockets
from trainshed.apiserver.access.signing import SigningKey
from trainshed.apiserver.access.tokens import ISSUER
from trainshed.kube.objects import Object

SECONDS = 30.0
RBAC = "rbac.authorization.k8s.io"
OPEN_REVIEWS = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}
"""What a real cluster, too, lets everybody do who is somebody."""
OPEN_RUNTIMES = "clustertrainingruntimes"
"""Everybody may read which runtimes there are to choose from."""


def calls(routes: Sequence[Route], space: str) -> Iterator[tuple[str, str, str, Route]]:
    for route in routes:
        for verb, method, path in route.calls(space, "some"):
            yield verb, method, path, route


def grant(wire: Wire, space: str, rules: list[Object], name: str = "bot", kind: str = "Role") -> None:
    """Give the service account a role of these rules, in its namespace."""
    base = f"/apis/{RBAC}/v1/namespaces/{space}"
    role = {"metadata": {"name": name}, "rules": rules}
    made = wire.ask("POST", f"{base}/roles", role)
    if made.code == 409:
        made = wire.ask("PUT", f"{base}/roles/{name}", role)
    assert made.code in (200, 201), made.text
    subject = {"kind": "ServiceAccount", "name": name, "namespace": space}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }
    assert wire.ask("POST", f"{base}/rolebindings", binding).code in (201, 409)


class TestEveryRoute:
    @pytest.mark.parametrize("header", ["", "Authorization: Bearer guessed\r\n"])
    def test_the_socket_of_our_own_parts_is_no_way_around_it(self, server: Server, header: str) -> None:
        door = server.data / "server.sock"
        assert (door.stat().st_mode & 0o777, server.data.stat().st_mode & 0o777) == (0o600, 0o700)
        with unixsockets.spelled(door) as address, socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(SECONDS)
            stream.connect(address)
            stream.sendall(f"GET /api/v1/secrets HTTP/1.1\r\nHost: here\r\n{header}\r\n".encode())
            assert stream.recv(4096).startswith(b"HTTP/1.1 401 ")

    def test_without_a_token_is_401(self, nobody: Wire, all_routes: Sequence[Route]) -> None:
        answered = {
            path: nobody.ask(method, path).code for _, method, path, _ in calls(all_routes, "default")
        }
        answered |= {path: nobody.ask("GET", path).code for path in DOCUMENTS if path not in PUBLIC}
        assert {path: code for path, code in answered.items() if code != 401} == {}
        assert len(answered) > 150

    def test_without_a_token_health_and_version_answer(self, nobody: Wire) -> None:
        assert {nobody.ask("GET", path).code for path in PUBLIC} == {200}
        assert {nobody.ask(method, "/version").code for method in ("POST", "PUT", "DELETE")} <= {401, 405}

    def test_with_a_powerless_token_is_403(self, bot: Wire, space: str, all_routes: Sequence[Route]) -> None:
        answered = {
            (method, path): bot.ask(method, path, {} if method in ("POST", "PUT", "PATCH") else b"").code
            for verb, method, path, route in calls(all_routes, space)
            if not (verb == "create" and route.plural in OPEN_REVIEWS)
            and not (verb in ("get", "list", "watch") and route.plural == OPEN_RUNTIMES)
        }
        assert {place: code for place, code in answered.items() if code != 403} == {}

    def test_everybody_may_ask_about_himself_and_read_discovery(self, bot: Wire) -> None:
        for plural in OPEN_REVIEWS:
            group = "authentication" if plural == "selfsubjectreviews" else "authorization"
            spec = {"namespace": "default", "nonResourceAttributes": {"verb": "get", "path": "/x"}}
            reply = bot.ask("POST", f"/apis/{group}.k8s.io/v1/{plural}", {"spec": spec})
            assert reply.code == 201, reply.text
        assert {bot.ask("GET", path).code for path in DOCUMENTS if path != "/"} == {200}

    def test_what_does_not_exist_is_refused_before_it_is_looked_for(self, bot: Wire, space: str) -> None:
        for path in ("nothings", "pods/missing", "secrets/missing", "pods/missing/log", "pods/missing/nope"):
            assert bot.ask("GET", f"/api/v1/namespaces/{space}/{path}").code == 403
        assert bot.ask("GET", "/apis/nothing.example.com/v1/things").code == 403
        assert bot.ask("GET", "/metrics").code == 403


class TestTokens:
    @pytest.mark.parametrize(("tokens", "code"), [(("", "wrong"), 200), (("wrong", ""), 401)])
    def test_of_two_the_first_counts(self, wire: Wire, tokens: Sequence[str], code: int) -> None:
        lines = [f"Authorization: Bearer {token or wire.token}" for token in tokens]
        wire.send("\r\n".join(["GET /api/v1/namespaces HTTP/1.1", "Host: x", *lines, "", ""]).encode())
        assert wire.socket.recv(65536).startswith(f"HTTP/1.1 {code} ".encode())
        wire.close()

    def test_an_expired_token_is_401(self, wire: Wire, space: str, server: Server) -> None:
        assert self._signed(wire, space, server, ends_in=600).code == 403
        assert self._signed(wire, space, server, ends_in=-600).code == 401

    def test_a_token_of_the_future_is_401(self, wire: Wire, space: str, server: Server) -> None:
        assert self._signed(wire, space, server, ends_in=7200, starts_in=3600).code == 401

    def test_a_token_for_another_audience_is_401(self, wire: Wire, provoked: Cluster, space: str) -> None:
        assert _with(provoked, token_for(wire, space, audiences=["vault"])).code == 401

    def test_a_token_signed_by_another_key_is_401(self, wire: Wire, space: str, provoked: Cluster) -> None:
        head, claims, signature = token_for(wire, space).split(".")
        forged = (
            base64.urlsafe_b64encode(base64.urlsafe_b64decode(signature + "==")[::-1]).decode().rstrip("=")
        )
        assert _with(provoked, f"{head}.{claims}.{forged}").code == 401
        none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
        assert _with(provoked, f"{none}.{claims}.").code == 401

    def test_a_token_ends_with_its_account_and_is_not_good_for_the_next_of_that_name(
        self, wire: Wire, provoked: Cluster, space: str
    ) -> None:
        token = token_for(wire, space)
        assert _with(provoked, token).code == 403
        account = f"/api/v1/namespaces/{space}/serviceaccounts/bot"
        assert wire.ask("DELETE", account).code == 200
        assert _with(provoked, token).code == 401
        fresh = token_for(wire, space)
        assert (_with(provoked, token).code, _with(provoked, fresh).code) == (401, 403)

    def test_a_token_ends_with_the_pod_it_is_bound_to(
        self, wire: Wire, provoked: Cluster, space: str
    ) -> None:
        token_for(wire, space)
        pod = a_waiting_pod("p", a_pod_spec(serviceAccountName="bot"))
        made = wire.ask("POST", f"/api/v1/namespaces/{space}/pods", pod).object()
        bound = {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": made["metadata"]["uid"]}
        token = token_for(wire, space, boundObjectRef=bound)
        assert _with(provoked, token).code == 403
        assert wire.ask("DELETE", f"/api/v1/namespaces/{space}/pods/p?gracePeriodSeconds=0").code == 200
        assert _with(provoked, token).code == 401

    def _signed(self, wire: Wire, space: str, server: Server, ends_in: int, starts_in: int = -3600) -> Reply:
        """The answer to a token of the server's own making, but of other times."""
        token_for(wire, space)
        account = wire.ask("GET", f"/api/v1/namespaces/{space}/serviceaccounts/bot").object()["metadata"]
        now = int(time.time())
        key = SigningKey(server.data / "pki" / "service-accounts.key")
        reference = {"name": "bot", "uid": account["uid"]}
        claims: Object = {
            "aud": [ISSUER], "iss": ISSUER, "sub": f"system:serviceaccount:{space}:bot",
            "jti": secrets.token_hex(8),
            "iat": now + starts_in, "nbf": now + starts_in, "exp": now + ends_in,
            "kubernetes.io": {"namespace": space, "serviceaccount": reference},
        }  # fmt: skip
        cluster = Cluster(server.data / "kubeconfig", server.folder)
        return _with(cluster, key.sign(claims))


def _with(cluster: Cluster, token: str) -> Reply:
    """The answer to a question that nobody without rights is answered: 403 for a good token, 401 else."""
    with Wire(cluster.config(), token) as wire:
        return wire.ask("GET", "/api/v1/nodes")


class TestImpersonation:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Impersonate-User": "trainshed-admin"}, {"Impersonate-User": "bot",
            "Impersonate-Group": "system:masters"},
            {"Impersonate-User": "system:serviceaccount:kube-system:default"}, {"Impersonate-User": "x",
            "Impersonate-Uid": "1"},
            {"Impersonate-User": "x", "Impersonate-Extra-Scopes": "all"},
        ],
    )  # fmt: skip
    def test_without_the_right_to_it_is_403(self, bot: Wire, headers: dict[str, str]) -> None:
        assert bot.ask("GET", "/api/v1/nodes", headers=headers).code == 403

    def test_of_a_group_alone_is_refused(self, wire: Wire, bot: Wire) -> None:
        assert wire.ask("GET", "/api/v1/nodes", headers={"Impersonate-Group": "system:masters"}).code in (
            400,
            403,
        )
        assert bot.ask("GET", "/api/v1/nodes", headers={"Impersonate-Group": "system:masters"}).code in (
            400,
            403,
        )

    def test_of_one_user_does_not_open_others(self, wire: Wire, bot: Wire, space: str) -> None:
        role = {"metadata": {"name": space}, "rules": [
            {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"],
            "resourceNames": ["alice"]}]}  # fmt: skip
        assert wire.ask("POST", f"/apis/{RBAC}/v1/clusterroles", role).code == 201
        subject = {"kind": "ServiceAccount", "name": "bot", "namespace": space}
        binding = {
            "metadata": {"name": space},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": space},
        }
        assert (
            wire.ask("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding | {"subjects": [subject]}).code
            == 201
        )
        try:
            refused = bot.ask("GET", "/api/v1/nodes", headers={"Impersonate-User": "alice"})
            assert 'User "alice" cannot list' in refused.object()["message"].replace("\\", "")
            other = bot.ask("GET", "/api/v1/nodes", headers={"Impersonate-User": "bob"}).object()["message"]
            assert "impersonate" in other
            groups = {"Impersonate-User": "alice", "Impersonate-Group": "system:masters"}
            assert "impersonate" in bot.ask("GET", "/api/v1/nodes", headers=groups).object()["message"]
        finally:
            wire.ask("DELETE", f"/apis/{RBAC}/v1/clusterrolebindings/{space}")
            wire.ask("DELETE", f"/apis/{RBAC}/v1/clusterroles/{space}")


class TestRoles:
    def test_what_changes_holds_from_the_next_request_on(self, wire: Wire, bot: Wire, space: str) -> None:
        maps, base = f"/api/v1/namespaces/{space}/configmaps", f"/apis/{RBAC}/v1/namespaces/{space}"
        for _ in range(5):
            assert bot.ask("GET", maps).code == 403
            grant(wire, space, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}])
            assert bot.ask("GET", maps).code == 200
            grant(wire, space, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
            assert bot.ask("GET", maps).code == 403
            grant(wire, space, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
            assert bot.ask("GET", maps).code == 200
            assert wire.ask("DELETE", f"{base}/rolebindings/bot").code == 200

    def test_a_right_ends_at_the_namespace(self, wire: Wire, bot: Wire, space: str) -> None:
        grant(wire, space, [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}])
        assert bot.ask("GET", f"/api/v1/namespaces/{space}/secrets").code == 200
        for path in (
            "/api/v1/secrets",
            "/api/v1/namespaces/default/secrets",
            "/api/v1/nodes",
            "/api/v1/namespaces",
        ):
            assert bot.ask("GET", path).code == 403
        # Nor is there a way round over an escaped slash or a dot.
        for detour in (
            "%2e%2e/default/secrets",
            f"{space}%2f..%2fdefault/secrets",
            f"{space}/../default/secrets",
        ):
            assert bot.ask("GET", f"/api/v1/namespaces/{detour}").code in (403, 404)

    def test_nobody_can_make_himself_more_than_he_is(self, wire: Wire, bot: Wire, space: str) -> None:
        may = [
            {
                "apiGroups": [RBAC],
                "resources": ["roles", "rolebindings"],
                "verbs": ["create", "update", "patch", "get"],
            }
        ]
        grant(wire, space, may)
        base = f"/apis/{RBAC}/v1/namespaces/{space}"
        more = [*may, {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
        subject = {"kind": "ServiceAccount", "name": "bot", "namespace": space}
        admin = {"metadata": {"name": "x"}, "subjects": [subject], "roleRef": {
            "apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}}  # fmt: skip
        attempts = {
            "a role": bot.ask("POST", f"{base}/roles", {"metadata": {"name": "x"}, "rules": more}),
            "an update": bot.ask("PUT", f"{base}/roles/bot", {"metadata": {"name": "bot"}, "rules": more}),
            "a merge patch": bot.ask("PATCH", f"{base}/roles/bot", {"rules": more},
            "application/merge-patch+json"),
            "a json patch": bot.ask("PATCH", f"{base}/roles/bot", [{"op": "add", "path": "/rules/-",
            "value": more[1]}],
                                    "application/json-patch+json"),
            "an apply": bot.ask("PATCH", f"{base}/roles/bot?fieldManager=x&force=true",
                                {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "bot"},
                                "rules": more},
                                "application/apply-patch+yaml"),
            "an applied new role": bot.ask("PATCH", f"{base}/roles/y?fieldManager=x",
                                           {"apiVersion": f"{RBAC}/v1", "kind": "Role",
                                           "metadata": {"name": "y"}, "rules": more},
                                           "application/apply-patch+yaml"),
            "a binding": bot.ask("POST", f"{base}/rolebindings", admin),
            "a dry run": bot.ask("POST", f"{base}/rolebindings?dryRun=All", admin),
        }  # fmt: skip
        assert {way: reply.code for way, reply in attempts.items() if reply.code != 403} == {}
        assert bot.ask("GET", f"/api/v1/namespaces/{space}/secrets/x").code == 403
        # What one has one may pass on.
        assert bot.ask("POST", f"{base}/roles", {"metadata": {"name": "same"}, "rules": may}).code == 201

    def test_creating_on_apply_needs_the_right_to_create(self, wire: Wire, bot: Wire, space: str) -> None:
        grant(wire, space, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "get"]}])
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
        path = f"/api/v1/namespaces/{space}/configmaps/new?fieldManager=x"
        assert bot.ask("PATCH", path, body, "application/apply-patch+yaml").code == 403
        wire.ask("POST", f"/api/v1/namespaces/{space}/configmaps", body)
        assert bot.ask("PATCH", path, body, "application/apply-patch+yaml").code == 200


class TestWebSockets:
    @pytest.mark.parametrize(
        "path", ["pods/p/exec?command=id", "pods/p/attach", "pods/p/portforward", "pods/p/log", "pods"]
    )
    def test_need_a_token_and_a_right_like_all_else(
        self, nobody: Wire, bot: Wire, space: str, path: str
    ) -> None:
        target = f"/api/v1/namespaces/{space}/{path}"
        assert nobody.ask("GET", target, headers=SOCKET).code == 401
        assert bot.ask("GET", target, headers=SOCKET).code == 403

    def test_a_token_in_the_address_is_no_token(self, nobody: Wire, wire: Wire) -> None:
        assert nobody.ask("GET", f"/api/v1/nodes?access_token={wire.token}").code == 401
        hidden = base64.urlsafe_b64encode(wire.token.encode()).decode().rstrip("=")
        offered = SOCKET | {"Sec-WebSocket-Protocol": f"base64url.bearer.authorization.k8s.io.{hidden}"}
        assert nobody.ask("GET", "/api/v1/namespaces/default/pods/p/exec", headers=offered).code in (
            400,
            401,
            404,
        )
