"""kubectl get in all its output forms."""

from __future__ import annotations

import json

import pytest

from tests.clients.console import Console


@pytest.fixture
def stocked(console: Console) -> Console:
    """Two pods that nobody schedules and a service."""
    pod = """
        apiVersion: v1
        kind: Pod
        metadata: {name: POD, labels: {app: web, tier: TIER}}
        spec: {containers: [{name: main, image: nginx}], nodeSelector: {place: nowhere}}
    """
    front = pod.replace("POD", "front").replace("TIER", "outer")
    back = pod.replace("POD", "back").replace("TIER", "inner")
    service = """
        apiVersion: v1
        kind: Service
        metadata: {name: web}
        spec: {ports: [{port: 80}], selector: {a: b}}
    """
    console.write(front_yaml=front, back_yaml=back, service_yaml=service)
    console.says("kubectl create -f front.yaml -f back.yaml -f service.yaml")
    return console


class TestTables:
    def test_plain_and_wide(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get pods
            NAME    READY   STATUS    RESTARTS   AGE
            back    0/1     Pending   0          AGE
            front   0/1     Pending   0          AGE
            $ kubectl get pod front -o wide
            NAME    READY   STATUS    RESTARTS   AGE   IP       NODE     NOMINATED NODE   READINESS GATES
            front   0/1     Pending   0          AGE   <none>   <none>   <none>           <none>
            $ kubectl get po --no-headers --show-kind
            pod/back    0/1   Pending   0     AGE
            pod/front   0/1   Pending   0     AGE
        """)

    def test_label_columns(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get pods -L tier --show-labels
            NAME    READY   STATUS    RESTARTS   AGE   TIER    LABELS
            back    0/1     Pending   0          AGE   inner   app=web,tier=inner
            front   0/1     Pending   0          AGE   outer   app=web,tier=outer
        """)

    def test_sorted_by_a_field(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get pods --sort-by=.metadata.labels.tier --no-headers
            back    0/1   Pending   0     AGE
            front   0/1   Pending   0     AGE
            $ kubectl get pods --sort-by='{.metadata.resourceVersion}' -o name
            pod/front
            pod/back
        """)

    def test_several_kinds_at_once(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get pods,svc,sa
            NAME        READY   STATUS    RESTARTS   AGE
            pod/back    0/1     Pending   0          AGE
            pod/front   0/1     Pending   0          AGE

            NAME          TYPE        CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE
            service/web   ClusterIP   IP           <none>        80/TCP    AGE

            NAME                     SECRETS   AGE
            serviceaccount/default   0         AGE
            $ kubectl get pod/front svc/web -o name
            pod/front
            service/web
        """)

    def test_all(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get all
            NAME        READY   STATUS    RESTARTS   AGE
            pod/back    0/1     Pending   0          AGE
            pod/front   0/1     Pending   0          AGE

            NAME          TYPE        CLUSTER-IP   EXTERNAL-IP   PORT(S)   AGE
            service/web   ClusterIP   IP           <none>        80/TCP    AGE
        """)

    def test_pages_look_like_one_list(self, stocked: Console) -> None:
        assert stocked.says("kubectl get pods --chunk-size=1 -o name") == "pod/back\npod/front\n"


class TestSelectors:
    def test_labels_and_fields(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get pods -l tier=inner -o name
            pod/back
            $ kubectl get pods -l 'tier notin (inner),app' -o name
            pod/front
            $ kubectl get pods --field-selector status.phase=Pending,metadata.name!=back -o name
            pod/front
            $ kubectl get pods --field-selector status.phase=Running
            No resources found in NS namespace.
            $ kubectl get pods -A -l app=web --field-selector metadata.namespace=NS -o name
            pod/back
            pod/front
        """)

    def test_bad_ones_are_quoted_back(self, stocked: Console) -> None:
        stocked.plays(r"""
            ! kubectl get pods --field-selector spec.foo=Running
            Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector \
            "", \
            field selector "spec.foo=Running": field label not supported: spec.foo
            ! kubectl get pods -l 'a in (b'
            Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label selector \
            "a in (b", field selector "": unable to parse requirement: found '', expected: ',' or ')'
        """)


class TestForms:
    def test_templates_and_columns(self, stocked: Console) -> None:
        stocked.plays(r"""
            $ kubectl get pods -o jsonpath='{range .items[*]}{.metadata.name}={.status.phase} {end}'
            back=Pending front=Pending
            $ kubectl get pods -o jsonpath-as-json='{.items[*].metadata.name}'
            [
                "back",
                "front"
            ]
            $ kubectl get pods -o go-template='{{range .items}}{{.metadata.name}} {{end}}'
            back front
            $ kubectl get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName
            NAME    NODE
            back    <none>
            front   <none>
        """)

    def test_yaml_of_an_object(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl get ns NS -o yaml
            apiVersion: v1
            kind: Namespace
            metadata:
              creationTimestamp: "TIME"
              labels:
                kubernetes.io/metadata.name: NS
              name: NS
              resourceVersion: "RV"
              uid: UID
            spec:
              finalizers:
              - kubernetes
            status:
              phase: Active
        """)

    def test_yaml_hides_owners_unless_asked(self, stocked: Console) -> None:
        assert "managedFields" not in stocked.says("kubectl get pod front -o yaml")
        assert "manager: kubectl-create" in stocked.says(
            "kubectl get pod front -o yaml --show-managed-fields"
        )

    def test_json_of_a_list(self, stocked: Console) -> None:
        found = json.loads(stocked.says("kubectl get pods -o json"))
        assert (found["kind"], found["apiVersion"]) == ("List", "v1")
        assert [item["kind"] for item in found["items"]] == ["Pod", "Pod"]

    def test_raw_paths(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl get --raw /healthz
            ok
            ! kubectl get --raw /nosuch
            Error from server (NotFound): the server could not find the requested resource
        """)


class TestMissing:
    def test_objects_kinds_and_namespaces(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl get pods nosuch
            Error from server (NotFound): pods "nosuch" not found
            $ kubectl get pods nosuch --ignore-not-found
            ! kubectl get nosuch
            error: the server doesn't have a resource type "nosuch"
            ! kubectl get nosuch.x.y
            error: the server doesn't have a resource type "nosuch"
            $ kubectl get pods -n UNIQUE
            No resources found in UNIQUE namespace.
        """)

    def test_what_is_there_is_shown_all_the_same(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create cm cm
            configmap/cm created
            ! kubectl get cm cm nosuch
            NAME   DATA   AGE
            cm     0      AGE
            Error from server (NotFound): configmaps "nosuch" not found
        """)
