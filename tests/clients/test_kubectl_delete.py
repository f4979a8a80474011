"""kubectl delete: one, several, all of them, with or without what they own."""

from __future__ import annotations

import pytest

from tests.clients.console import Console

HELD = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: held, finalizers: [example.com/x]}
"""


@pytest.fixture
def family(console: Console) -> Console:
    """An owner and its dependent."""
    console.says("kubectl create cm owner")
    uid = console.says("kubectl get cm owner -o jsonpath={.metadata.uid}")
    console.write(
        child_yaml=f"""
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: child
          ownerReferences:
          - {{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}, blockOwnerDeletion: true}}
        """
    )
    console.says("kubectl create -f child.yaml")
    return console


class TestDelete:
    def test_one_several_and_missing_ones(self, console: Console) -> None:
        console.says("kubectl create cm one")
        console.says("kubectl create cm two")
        console.plays(r"""
            ! kubectl delete cm one two nosuch
            configmap "one" deleted
            configmap "two" deleted
            Error from server (NotFound): configmaps "nosuch" not found
            $ kubectl delete cm nosuch --ignore-not-found
            $ kubectl delete cm,secret -l nosuch=1
            No resources found
            ! kubectl delete cm
            error: resource(s) were provided, but no name was specified
        """)

    def test_all_of_a_kind(self, console: Console) -> None:
        console.says("kubectl create secret generic one")
        console.says("kubectl create secret generic two")
        console.plays(r"""
            $ kubectl delete secrets --all
            secret "one" deleted
            secret "two" deleted
            $ kubectl delete secrets --all
            No resources found
        """)

    def test_what_a_file_names(self, console: Console) -> None:
        console.write(one_yaml="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n")
        console.plays(r"""
            $ kubectl create -f one.yaml
            configmap/one created
            $ kubectl delete -f one.yaml --dry-run=server
            configmap "one" deleted (server dry run)
            $ kubectl delete -f one.yaml
            configmap "one" deleted
            ! kubectl delete -f one.yaml
            Error from server (NotFound): error when deleting "one.yaml": configmaps "one" not found
        """)

    def test_a_pod_at_once(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl run web --image=nginx --overrides='{"spec":{"nodeName":"nowhere"}}'
            pod/web created
            $ kubectl delete pod web --wait=false
            pod "web" deleted
            $ kubectl get pod web
            NAME   READY   STATUS        RESTARTS   AGE
            web    0/1     Terminating   0          AGE
            $ kubectl delete pod web --grace-period=0 --force
            pod "web" force deleted
            Warning: Immediate deletion does not wait for confirmation that the running resource has been \
            terminated. The resource may continue to run on the cluster indefinitely.
        """)


class TestCascade:
    def test_in_the_background_the_dependents_follow(self, family: Console) -> None:
        family.plays(r"""
            $ kubectl delete cm owner
            configmap "owner" deleted
            $ kubectl wait --for=delete cm/child --timeout=30s
        """)

    def test_in_the_foreground_they_go_first(self, family: Console) -> None:
        family.plays(r"""
            $ kubectl delete cm owner --cascade=foreground
            configmap "owner" deleted
            ! kubectl get cm child
            Error from server (NotFound): configmaps "child" not found
        """)

    def test_orphans_stay_without_their_owner(self, family: Console) -> None:
        family.plays(r"""
            $ kubectl delete cm owner --cascade=orphan
            configmap "owner" deleted
            $ kubectl get cm child -o jsonpath='{.metadata.name}{.metadata.ownerReferences}'
            child
        """)

    def test_finalizers_hold_an_object(self, console: Console) -> None:
        console.write(held_yaml=HELD)
        console.says("kubectl create -f held.yaml")
        console.plays(r"""
            $ kubectl delete cm held --wait=false
            configmap "held" deleted
            ! kubectl wait --for=delete cm/held --timeout=1s
            error: timed out waiting for the condition on configmaps/held
            $ kubectl patch cm held --type=merge -p '{"metadata":{"finalizers":null}}'
            configmap/held patched
            $ kubectl wait --for=delete cm/held --timeout=30s
        """)


class TestNamespaces:
    def test_go_with_all_they_hold(self, console: Console) -> None:
        console.says("kubectl create ns UNIQUE")
        console.says("kubectl create cm app -n UNIQUE")
        console.plays(r"""
            $ kubectl delete ns UNIQUE
            namespace "UNIQUE" deleted
            $ kubectl get cm -n UNIQUE
            No resources found in UNIQUE namespace.
        """)

    def test_that_are_leaving_take_nothing_new(self, console: Console) -> None:
        console.write(held_yaml=HELD)
        console.says("kubectl create ns UNIQUE")
        console.says("kubectl create -f held.yaml -n UNIQUE")
        console.plays(r"""
            $ kubectl delete ns UNIQUE --wait=false
            namespace "UNIQUE" deleted
            ! kubectl create cm late -n UNIQUE
            error: failed to create configmap: configmaps "late" is forbidden: unable to create new \
            content in \
            namespace UNIQUE because it is being terminated
            $ kubectl get ns UNIQUE
            NAME     STATUS        AGE
            UNIQUE   Terminating   AGE
            $ kubectl patch cm held -n UNIQUE --type=merge -p '{"metadata":{"finalizers":null}}'
            configmap/held patched
        """)
        console.says("kubectl wait --for=delete ns/UNIQUE --timeout=30s")

    def test_of_the_system_stay(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl delete ns default
            Error from server (Forbidden): namespaces "default" is forbidden: this namespace may not be \
            deleted
        """)
