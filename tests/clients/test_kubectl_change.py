"""kubectl patch, label, annotate, edit, scale, set and rollout."""

from __future__ import annotations

import pytest

from tests.clients.console import Console


@pytest.fixture
def config(console: Console) -> Console:
    """A ConfigMap to change."""
    console.says("kubectl create cm app --from-literal=a=1")
    return console


@pytest.fixture
def pod(console: Console) -> Console:
    """A pod that nobody schedules."""
    console.write(
        pod_yaml="""
        apiVersion: v1
        kind: Pod
        metadata: {name: web}
        spec: {containers: [{name: main, image: 'nginx:1'}], nodeSelector: {place: nowhere}}
        """
    )
    console.says("kubectl create -f pod.yaml")
    return console


@pytest.fixture
def deployment(console: Console) -> Console:
    console.says("kubectl create deployment dep --image=nginx")
    return console


class TestPatch:
    def test_all_three_types(self, config: Console) -> None:
        config.plays(r"""
            $ kubectl patch cm app -p '{"data":{"z":"1"}}'
            configmap/app patched
            $ kubectl patch cm app -p '{"data":{"z":"1"}}'
            configmap/app patched (no change)
            $ kubectl patch cm app --type=merge -p '{"data":{"z":null}}'
            configmap/app patched
            $ kubectl patch cm app --type=json -p '[{"op":"add","path":"/data/q","value":"1"}]'
            configmap/app patched
            $ kubectl get cm app -o jsonpath={.data}
            {"a":"1","q":"1"}
        """)

    def test_what_cannot_be_done_is_refused(self, config: Console) -> None:
        config.plays(r"""
            ! kubectl patch cm app --type=json -p '[{"op":"test","path":"/data/a","value":"2"}]'
            The request is invalid: the server rejected our request due to an error in our request
            ! kubectl patch cm app --type=json -p '[{"op":"remove","path":"/data/nosuch"}]'
            The request is invalid: the server rejected our request due to an error in our request
            ! kubectl patch cm app -p '{"metadata":{"name":"other"}}'
            Error from server (BadRequest): the name of the object (other) does not match the name on the \
            URL (app)
            ! kubectl patch cm nosuch -p '{"data":{}}'
            Error from server (NotFound): configmaps "nosuch" not found
        """)

    def test_an_old_revision_is_a_conflict(self, config: Console) -> None:
        config.plays(r"""
            ! kubectl patch cm app -p '{"metadata":{"resourceVersion":"1"},"data":{"z":"7"}}'
            Error from server (Conflict): Operation cannot be fulfilled on configmaps "app": the object has \
            been modified; please apply your changes to the latest version and try again
        """)

    def test_lists_merge_by_name(self, pod: Console) -> None:
        pod.plays(r"""
            $ kubectl patch pod web -p '{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}'
            pod/web patched
            $ kubectl get pod web -o jsonpath='{.spec.containers[*].image}'
            nginx:2
        """)

    def test_the_status_has_its_own_door(self, pod: Console) -> None:
        pod.plays(r"""
            $ kubectl patch pod web -p '{"status":{"message":"no"}}'
            pod/web patched (no change)
            $ kubectl patch pod web --subresource=status -p '{"status":{"message":"hi"}}'
            pod/web patched
            $ kubectl get pod web -o jsonpath={.status.message}
            hi
            $ kubectl get pod web --subresource=status
            NAME   READY   STATUS    RESTARTS   AGE
            web    0/1     Pending   0          AGE
        """)

    def test_immutable_data_stays(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create secret generic fixed --from-literal=a=1
            secret/fixed created
            $ kubectl patch secret fixed -p '{"immutable":true}'
            secret/fixed patched
            ! kubectl patch secret fixed -p '{"data":{"a":"Mg=="}}'
            The Secret "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set
        """)


class TestLabelAndAnnotate:
    def test_labels(self, config: Console) -> None:
        config.plays(r"""
            $ kubectl label cm app x=y
            configmap/app labeled
            ! kubectl label cm app x=z
            error: 'x' already has a value (y), and --overwrite is false
            $ kubectl label cm app x=z --overwrite
            configmap/app labeled
            $ kubectl label cm app x=z --overwrite
            configmap/app not labeled
            $ kubectl label cm app --list
            x=z
            $ kubectl label cm app x-
            configmap/app unlabeled
            $ kubectl label cm app x-
            label "x" not found.
            configmap/app labeled
        """)

    def test_bad_labels(self, config: Console) -> None:
        config.plays(r"""
            ! kubectl label cm app 'bad key!=1'
            The ConfigMap "app" is invalid: metadata.labels: Invalid value: "bad key!": name part must \
            consist \
            of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
            character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
            '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
        """)

    def test_annotations(self, config: Console) -> None:
        config.plays(r"""
            $ kubectl annotate cm app d=1
            configmap/app annotated
            ! kubectl annotate cm app d=2
            error: --overwrite is false but found the following declared annotation(s): \
            'd' already has a value (1)
            $ kubectl annotate cm app d=2 --overwrite
            configmap/app annotated
            $ kubectl annotate cm app --list
            d=2
            $ kubectl annotate cm app d-
            configmap/app annotated
        """)

    def test_many_at_once(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl create sa one
            serviceaccount/one created
            $ kubectl label sa --all all=1
            serviceaccount/default labeled
            serviceaccount/one labeled
            $ kubectl annotate sa -l all=1 note=x
            serviceaccount/default annotated
            serviceaccount/one annotated
        """)


class TestEdit:
    def test_sends_what_the_editor_changed(self, config: Console) -> None:
        config.write(editor_sh="""sed -i 's/"1"/"77"/' "$1"\n""")
        config.plays(r"""
            $ KUBE_EDITOR="sh editor.sh" kubectl edit cm app
            configmap/app edited
            $ kubectl get cm app -o jsonpath={.data.a}
            77
            $ KUBE_EDITOR=true kubectl edit cm app
            Edit cancelled, no changes made.
            ! kubectl edit cm nosuch
            Error from server (NotFound): configmaps "nosuch" not found
        """)


class TestScaleAndRollout:
    def test_scale(self, deployment: Console) -> None:
        deployment.plays(r"""
            $ kubectl scale deploy dep --replicas=3
            deployment.apps/dep scaled
            ! kubectl scale deploy dep --replicas=3 --current-replicas=7
            error: Expected replicas to be 7, was 3
            $ kubectl get deploy dep -o jsonpath={.spec.replicas}
            3
            $ kubectl get deploy dep --subresource=scale -o jsonpath='{.kind} {.apiVersion} \
            {.status.selector}'
            Scale autoscaling/v1 app=dep
        """)
        shown = deployment.says("kubectl get deploy dep --subresource=scale")
        header, row = deployment.words(shown).splitlines()
        assert header == "NAME DESIRED AVAILABLE AGE"
        assert row.startswith("dep 3 ")

    def test_set_and_rollout(self, deployment: Console) -> None:
        deployment.plays(r"""
            $ kubectl set image deploy/dep nginx=nginx:9
            deployment.apps/dep image updated
            $ kubectl set env deploy/dep A=1
            deployment.apps/dep env updated
            $ kubectl set resources deploy/dep --limits=cpu=1
            deployment.apps/dep resource requirements updated
            $ kubectl rollout pause deploy dep
            deployment.apps/dep paused
            ! kubectl rollout restart deploy dep
            error: deployments.apps "dep" can't restart paused deployment (run rollout resume first)
            $ kubectl rollout resume deploy dep
            deployment.apps/dep resumed
            $ kubectl rollout restart deploy dep
            deployment.apps/dep restarted
        """)
