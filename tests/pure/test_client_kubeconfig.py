"""Kubeconfig files: merging, contexts, credentials, and one clear line for everything that is wrong."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from trainshed.client import kubeconfig
from trainshed.client.failures import BadConfig
from trainshed.client.kubeconfig import Config
from trainshed.kube.objects import JSON, Object

PEM = base64.b64encode(b"pem").decode()


def a_kubeconfig(user: Object | None = None, cluster: Object | None = None, **more: JSON) -> Object:
    return {
        "clusters": [{"name": "c", "cluster": {"server": "https://c:6443", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **more,
    }


def load(folder: Path, document: JSON, context: str = "") -> Config:
    file = folder / "config"
    file.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return kubeconfig.load(file, context)


class TestContexts:
    def test_the_current_context_decides(self, tmp_path: Path) -> None:
        found = load(tmp_path, a_kubeconfig({"token": "secret"}))
        assert (found.server, found.user.token, found.namespace) == ("https://c:6443", "secret", "default")
        assert found.context == "x"

    def test_another_context_can_be_named(self, tmp_path: Path) -> None:
        contexts = [{"name": "y", "context": {"cluster": "c", "namespace": "team"}}]
        found = load(tmp_path, a_kubeconfig(contexts=contexts), "y")
        assert (found.namespace, found.user) == ("team", kubeconfig.User())

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"current-context": ""}, "has no current-context; it has x"),
            ({"current-context": "z"}, "has no context 'z'; it has x"),
            ({"clusters": []}, "has no cluster 'c'"),
            ({"users": None}, "has no user 'u'"),
        ],
    )
    def test_what_is_missing_is_named(self, tmp_path: Path, changes: Object, message: str) -> None:
        with pytest.raises(BadConfig, match=message):
            load(tmp_path, a_kubeconfig() | changes)


class TestMerging:
    def test_the_first_file_that_has_a_name_wins(self, tmp_path: Path) -> None:
        first, second = tmp_path / "1", tmp_path / "2"
        first.write_text(
            yaml.safe_dump({"current-context": "x", "users": [{"name": "u", "user": {"token": "1"}}]})
        )
        second.write_text(yaml.safe_dump(a_kubeconfig({"token": "2"}) | {"current-context": "other"}))
        found = kubeconfig.load(env={"KUBECONFIG": f"{first}:{tmp_path / 'none'}:{second}"})
        assert (found.user.token, found.server) == ("1", "https://c:6443")

    def test_without_the_variable_it_is_the_file_at_home(self, tmp_path: Path) -> None:
        (tmp_path / ".kube").mkdir()
        (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(a_kubeconfig()))
        assert kubeconfig.load(env={"HOME": str(tmp_path)}).server == "https://c:6443"

    def test_paths_are_relative_to_their_file(self, tmp_path: Path) -> None:
        (tmp_path / "ca.pem").write_bytes(b"authority")
        found = load(tmp_path, a_kubeconfig({"tokenFile": "token"}, {"certificate-authority": "ca.pem"}))
        assert (found.authority, found.user.token_file) == (b"authority", tmp_path / "token")

    def test_no_file_anywhere_is_one_clear_line(self, tmp_path: Path) -> None:
        with pytest.raises(BadConfig, match=r"there is no kubeconfig \(looked for .*/\.kube/config\)"):
            kubeconfig.load(env={"HOME": str(tmp_path)})

    def test_a_file_asked_for_must_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(BadConfig, match=r"cannot read the kubeconfig .*/none: No such file or directory"):
            kubeconfig.load(tmp_path / "none")


class TestClusters:
    def test_inline_data_wins_over_a_file(self, tmp_path: Path) -> None:
        cluster = {"certificate-authority": "nowhere", "certificate-authority-data": PEM}
        assert load(tmp_path, a_kubeconfig(cluster=cluster)).authority == b"pem"

    def test_verification_can_be_switched_off(self, tmp_path: Path) -> None:
        cluster = {"insecure-skip-tls-verify": True, "tls-server-name": "other"}
        found = load(tmp_path, a_kubeconfig(cluster=cluster))
        assert (found.insecure, found.tls_name) == (True, "other")

    @pytest.mark.parametrize(
        ("cluster", "message"),
        [
            ({"server": ""}, "needs a server that starts with https://"),
            ({"server": "c:6443"}, "needs a server that starts with https://"),
            ({"proxy-url": "socks5://p"}, "wants the proxy socks5://p: proxies are not supported"),
            (
                {"insecure-skip-tls-verify": True, "certificate-authority-data": PEM},
                "has both a certificate authority",
            ),
            ({"certificate-authority-data": "!"}, "certificate-authority-data is not base64"),
            ({"certificate-authority": "none"}, "cannot read certificate-authority .*/none"),
            ({"server": 7}, r"is not a kubeconfig: Expected `str`, got `int` - at `\$.clusters\[0\]"),
        ],
    )
    def test_each_mistake_is_one_clear_line(self, tmp_path: Path, cluster: Object, message: str) -> None:
        with pytest.raises(BadConfig, match=message) as refused:
            load(tmp_path, a_kubeconfig(cluster=cluster))
        assert "\n" not in str(refused.value)


class TestUsers:
    def test_a_client_certificate_comes_with_its_key(self, tmp_path: Path) -> None:
        user = {"client-certificate-data": PEM, "client-key-data": PEM}
        found = load(tmp_path, a_kubeconfig(user)).user
        assert (found.certificate, found.key) == (b"pem", b"pem")

    def test_impersonation_becomes_headers(self, tmp_path: Path) -> None:
        user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"k": ["v"]}}
        assert load(tmp_path, a_kubeconfig(user)).user.impersonate == (
            ("Impersonate-User", "jane"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Extra-k", "v"),
        )

    def test_an_exec_plugin_is_read_with_its_settings(self, tmp_path: Path) -> None:
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./login",
            "args": ["a"],
            "env": [{"name": "K", "value": "v"}],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
        found = load(tmp_path, a_kubeconfig({"exec": plugin})).user.exec
        assert found is not None
        assert (found.command, found.args, found.env) == (str(tmp_path / "login"), ("a",), (("K", "v"),))
        assert (found.interactive, found.provide_cluster) == ("Never", True)

    @pytest.mark.parametrize(
        ("user", "message"),
        [
            ({"client-certificate-data": PEM}, "only one of client certificate and client key"),
            ({"auth-provider": {"name": "gcp"}}, "the auth-provider 'gcp' left Kubernetes"),
            ({"exec": {"command": "x", "apiVersion": "v0"}}, "x has the apiVersion 'v0'; known are"),
            ({"exec": {"apiVersion": "v1"}}, "missing required field `command`"),
            ({"token": 123}, "Expected `str`, got `int`"),
        ],
    )
    def test_each_mistake_is_one_clear_line(self, tmp_path: Path, user: Object, message: str) -> None:
        with pytest.raises(BadConfig, match=message):
            load(tmp_path, a_kubeconfig(user))

    def test_secrets_do_not_appear_in_what_is_printed(self, tmp_path: Path) -> None:
        user = {
            "token": "s3cret",
            "password": "s3cret",
            "client-certificate-data": PEM,
            "client-key-data": PEM,
        }
        printed = repr(load(tmp_path, a_kubeconfig(user)))
        assert "s3cret" not in printed
        assert "key=" not in printed


class TestFiles:
    @pytest.mark.parametrize(
        "text", ["{", "\x00", "- a\n", "text", "clusters: 7", "users: [{}]", "a: &a [*a]\n"]
    )
    def test_what_is_no_kubeconfig_is_one_clear_line(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(BadConfig) as refused:
            load(tmp_path, text)
        assert "\n" not in str(refused.value)

    def test_an_empty_file_has_no_context(self, tmp_path: Path) -> None:
        with pytest.raises(BadConfig, match="has no current-context"):
            load(tmp_path, "")


class TestInCluster:
    def test_a_pod_finds_its_server_and_its_account(self, tmp_path: Path) -> None:
        for name, text in {"ca.crt": "authority", "namespace": "team\n", "token": "t"}.items():
            (tmp_path / name).write_text(text)
        env = {"HOME": "/none", "KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
        found = kubeconfig.load(env=env, pod=tmp_path)
        assert (found.server, found.namespace) == ("https://[fd00::1]:6443", "team")
        assert (found.authority, found.user.token_file) == (b"authority", tmp_path / "token")

    def test_outside_a_pod_there_is_none(self) -> None:
        with pytest.raises(BadConfig, match="this process does not run in a pod"):
            kubeconfig.in_cluster({})


def test_a_file_that_cannot_even_be_looked_for_is_one_line() -> None:
    with pytest.raises(BadConfig, match="cannot read the kubeconfig x"):
        kubeconfig.load(env={"KUBECONFIG": "x" * 300})
