"""kubectl auth, --as, tokens, and what a person without rights reads."""

from __future__ import annotations

import pytest
import yaml

from tests.clients.console import Console


@pytest.fixture
def reader(console: Console) -> Console:
    """Bob may read pods here."""
    console.says("kubectl create role reader --verb=get,list,watch --resource=pods")
    console.says("kubectl create rolebinding bob --role=reader --user=bob")
    return console


class TestQuestions:
    def test_can_i(self, reader: Console) -> None:
        reader.plays(r"""
            $ kubectl auth can-i create configmaps
            yes
            $ kubectl auth can-i '*' '*'
            yes
            $ kubectl auth can-i get pods --as bob
            yes
            ! kubectl auth can-i delete pods --as bob
            no
            ! kubectl auth can-i get pods --as bob -n default
            no
            ! kubectl auth can-i get pods --subresource=log --as bob
            no
            $ kubectl auth can-i get /healthz --as bob
            yes
            $ kubectl auth can-i get nosuch
            yes
            Warning: the server doesn't have a resource type 'nosuch'
        """)

    def test_the_list_of_rights(self, reader: Console) -> None:
        lines = reader.words(reader.says("kubectl auth can-i --list --as bob")).splitlines()
        assert lines[0] == "Resources Non-Resource URLs Resource Names Verbs"
        assert "pods [] [] [get list watch]" in lines
        assert "selfsubjectaccessreviews.authorization.k8s.io [] [] [create]" in lines
        assert "[/healthz] [] [get]" in lines

    def test_the_administrator_may_do_all(self, console: Console) -> None:
        lines = console.words(console.says("kubectl auth can-i --list")).splitlines()
        assert lines[1:3] == ["*.* [] [] [*]", "[*] [] [*]"]

    def test_who_am_i(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl auth whoami --as bob --as-group=g1
            ATTRIBUTE   VALUE
            Username    bob
            Groups      [g1 system:authenticated]
        """)

    def test_the_standard_roles_are_there(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl get clusterroles admin edit view cluster-admin -o name
            clusterrole.rbac.authorization.k8s.io/admin
            clusterrole.rbac.authorization.k8s.io/edit
            clusterrole.rbac.authorization.k8s.io/view
            clusterrole.rbac.authorization.k8s.io/cluster-admin
        """)


class TestWithoutRights:
    def test_reads(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl get pods --as bob
            Error from server (Forbidden): pods is forbidden: User "bob" cannot list resource "pods" in \
            API group \
            "" in the namespace "NS"
            ! kubectl get pod x --as bob
            Error from server (Forbidden): pods "x" is forbidden: User "bob" cannot get resource "pods" in \
            API \
            group "" in the namespace "NS"
            ! kubectl get pods -A --as bob
            Error from server (Forbidden): pods is forbidden: User "bob" cannot list resource "pods" in \
            API group \
            "" at the cluster scope
            ! kubectl get crd --as bob
            Error from server (Forbidden): customresourcedefinitions.apiextensions.k8s.io is forbidden: \
            User "bob" \
            cannot list resource "customresourcedefinitions" in API group "apiextensions.k8s.io" at the \
            cluster scope
        """)

    def test_writes(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl create cm x --as bob
            error: failed to create configmap: configmaps is forbidden: User "bob" cannot create resource \
            "configmaps" in API group "" in the namespace "NS"
            ! kubectl delete cm x --as bob
            Error from server (Forbidden): configmaps "x" is forbidden: User "bob" cannot delete resource \
            "configmaps" in API group "" in the namespace "NS"
        """)

    def test_a_binding_opens_one_namespace(self, reader: Console) -> None:
        reader.plays(r"""
            $ kubectl get pods --as bob
            No resources found in NS namespace.
            ! kubectl get secrets --as bob
            Error from server (Forbidden): secrets is forbidden: User "bob" cannot list resource "secrets" \
            in API \
            group "" in the namespace "NS"
        """)

    def test_nobody_gives_more_than_they_have(self, console: Console) -> None:
        console.says("kubectl create role maker --verb=create --resource=roles")
        console.says("kubectl create rolebinding bob --role=maker --user=bob")
        refused = console.run("kubectl create role all --verb=get --resource=secrets --as bob")
        assert refused.returncode == 1
        assert refused.stderr.startswith(
            'Error from server (Forbidden): roles.rbac.authorization.k8s.io "all" is forbidden: user "bob" '
            '(groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'
        )

    def test_a_wrong_token_is_nobody(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl get pods --token=wrong
            error: You must be logged in to the server (Unauthorized)
        """)


class TestServiceAccounts:
    def test_act_within_their_roles(self, console: Console) -> None:
        console.says("kubectl create sa bot")
        console.says("kubectl create rolebinding bot --clusterrole=view --serviceaccount=NS:bot")
        token = console.says("kubectl create token bot").strip()
        config = console.folder / ".kubeconfig"
        # Not by `write`: the letters it replaces may be among those of a certificate.
        (console.folder / "bot.yaml").write_text(_with_token(config.read_text(), token))
        console.plays(r"""
            $ kubectl --kubeconfig bot.yaml auth whoami -o jsonpath={.status.userInfo.username}
            system:serviceaccount:NS:bot
            $ kubectl --kubeconfig bot.yaml get pods
            No resources found in NS namespace.
            ! kubectl --kubeconfig bot.yaml get secrets
            Error from server (Forbidden): secrets is forbidden: User "system:serviceaccount:NS:bot" \
            cannot list \
            resource "secrets" in API group "" in the namespace "NS"
        """)


def _with_token(kubeconfig: str, token: str) -> str:
    config = yaml.safe_load(kubeconfig)
    for entry in config["users"]:
        entry["user"] = {"token": token}
    return yaml.safe_dump(config)
