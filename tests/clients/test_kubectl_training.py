"""The kubectl lines people follow in tutorials on training jobs, as far as no pod has to run.

The training kinds come with our server; on another cluster their definitions must be installed first.
"""

from __future__ import annotations

import pytest

from tests.clients.console import Console

TRAINJOB = """
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata: {name: t5-large}
    spec:
      runtimeRef: {name: torch-distributed}
      trainer:
        numNodes: 2
        image: example.com/pytorch:2.8
        command: [torchrun, t5-fsdp.py]
        resourcesPerNode: {limits: {nvidia.com/gpu: "8"}, requests: {nvidia.com/gpu: "8"}}
"""
PYTORCHJOB = """
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: pytorch-dist-job}
    spec:
      pytorchReplicaSpecs:
        Master: &replica
          replicas: 1
          restartPolicy: OnFailure
          template:
            spec:
              containers: [{name: pytorch, image: 'example.com/train:1', command: [python3, train.py]}]
        Worker: *replica
"""
OVERLAY = """
    namespace: NS
    resources: [../../base]
    patches:
    - target: {kind: PyTorchJob}
      patch: |-
        - {op: replace, path: /spec/pytorchReplicaSpecs/Worker/replicas, value: 2}
    configMapGenerator:
    - name: settings
      literals: [EPOCHS=3]
"""


@pytest.fixture
def trainjob(console: Console) -> Console:
    console.write(trainjob_yaml=TRAINJOB)
    console.says("kubectl apply -f trainjob.yaml")
    return console


class TestKinds:
    def test_are_installed(self, console: Console) -> None:
        names = set(console.says("kubectl get crd -o name").split())
        prefix = "customresourcedefinition.apiextensions.k8s.io/"
        plurals = ("mpijobs", "mxjobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs", "jaxjobs")
        assert {f"{prefix}{plural}.kubeflow.org" for plural in plurals} <= names
        assert f"{prefix}trainjobs.trainer.kubeflow.org" in names
        assert f"{prefix}jobsets.jobset.x-k8s.io" in names

    def test_definitions_tell_their_age(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl get crd pytorchjobs.kubeflow.org
            NAME                       CREATED AT
            pytorchjobs.kubeflow.org   TIME
        """)

    def test_runtimes_are_there(self, console: Console) -> None:
        lines = console.words(console.says("kubectl get clustertrainingruntimes")).splitlines()
        assert lines[0] == "NAME AGE"
        names = ("deepspeed-distributed", "mlx-distributed", "torch-distributed", "torchtune-llama3.2-1b")
        assert {f"{name} AGE" for name in names} <= set(lines)

    def test_trainjobs_are_explained(self, console: Console) -> None:
        lines = console.words(console.says("kubectl explain trainjob.spec")).splitlines()
        assert lines[:3] == ["GROUP: trainer.kubeflow.org", "KIND: TrainJob", "VERSION: v1alpha1"]
        assert "FIELD: spec <Object>" in lines
        assert "runtimeRef <Object> -required-" in lines
        assert "podTemplateOverrides <[]Object>" in lines

    def test_and_so_are_their_overrides(self, console: Console) -> None:
        shown = console.says("kubectl explain trainjob.spec.podTemplateOverrides.spec")
        fields = [line.split()[:2] for line in shown.splitlines() if line.startswith("  ") and "\t<" in line]
        assert ["nodeSelector", "<map[string]string>"] in fields
        assert ["tolerations", "<[]Object>"] in fields
        assert ["volumes", "<[]Object>"] in fields

    def test_api_resources_name_them(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl api-resources --api-group=trainer.kubeflow.org
            NAME                      SHORTNAMES   APIVERSION         NAMESPACED   KIND
            clustertrainingruntimes   trainer.kubeflow.org/v1alpha1   false        ClusterTrainingRuntime
            trainingruntimes          trainer.kubeflow.org/v1alpha1   true         TrainingRuntime
            trainjobs                 trainer.kubeflow.org/v1alpha1   true         TrainJob
        """)


class TestTrainJobs:
    def test_from_apply_to_delete(self, console: Console) -> None:
        console.write(trainjob_yaml=TRAINJOB)
        console.plays(r"""
            $ kubectl apply -f trainjob.yaml
            trainjob.trainer.kubeflow.org/t5-large created
            $ kubectl apply -f trainjob.yaml
            trainjob.trainer.kubeflow.org/t5-large unchanged
            $ kubectl get trainjob
            NAME       STATE   AGE
            t5-large           AGE
            $ kubectl get trainjob t5-large -o jsonpath='{.spec.trainer.numNodes} {.spec.runtimeRef.kind}'
            2 ClusterTrainingRuntime
            ! kubectl scale trainjob t5-large --replicas=3
            Error from server (NotFound): trainjobs.trainer.kubeflow.org "t5-large" not found
            $ kubectl delete trainjob t5-large
            trainjob.trainer.kubeflow.org "t5-large" deleted
        """)

    def test_show_their_state(self, trainjob: Console) -> None:
        condition = (
            '{"type":"Complete","status":"True","reason":"x","message":"y",'
            '"lastTransitionTime":"2026-01-01T00:00:00Z"}'
        )
        status = f'{{"status":{{"conditions":[{condition}]}}}}'
        trainjob.says(f"kubectl patch trainjob t5-large --type=merge --subresource=status -p '{status}'")
        trainjob.plays(r"""
            $ kubectl wait --for=condition=Complete trainjob/t5-large --timeout=30s
            trainjob.trainer.kubeflow.org/t5-large condition met
            $ kubectl get trainjob
            NAME       STATE      AGE
            t5-large   Complete   AGE
        """)

    def test_are_described(self, trainjob: Console) -> None:
        lines = trainjob.words(trainjob.says("kubectl describe trainjob t5-large")).splitlines()
        assert lines[:2] == ["Name: t5-large", "Namespace: NS"]
        assert "API Version: trainer.kubeflow.org/v1alpha1" in lines
        assert "Num Nodes: 2" in lines
        assert "nvidia.com/gpu: 8" in lines

    def test_in_the_older_dialect_are_taken_with_a_hint(self, console: Console) -> None:
        overrides = """
      podTemplateOverrides:
      - targetJobs: [{name: node}]
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: g6e.48xlarge}
          containers: [{name: node, volumeMounts: [{mountPath: /dev/shm, name: dshm}]}]
          volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
"""
        console.write(old_yaml=TRAINJOB.rstrip() + overrides)
        made = console.run("kubectl apply -f old.yaml")
        assert made.stdout == "trainjob.trainer.kubeflow.org/t5-large created\n"
        assert made.stderr.startswith("Warning: spec.podTemplateOverrides: ")


class TestPyTorchJobs:
    def test_by_kustomize(self, console: Console) -> None:
        console.write(
            base__job_yaml=PYTORCHJOB,
            base__kustomization_yaml="resources: [job.yaml]\n",
            overlays__ddp__kustomization_yaml=OVERLAY,
        )
        console.plays(r"""
            $ kubectl apply -k overlays/ddp
            configmap/settings-dmd8m2m7kg created
            pytorchjob.kubeflow.org/pytorch-dist-job created
            $ kubectl apply -k overlays/ddp
            configmap/settings-dmd8m2m7kg unchanged
            pytorchjob.kubeflow.org/pytorch-dist-job unchanged
            $ kubectl diff -k overlays/ddp
            $ kubectl get pytorchjob
            NAME               STATE   AGE
            pytorch-dist-job           AGE
            $ kubectl get pytorchjob -o jsonpath='{.items[*].spec.pytorchReplicaSpecs.Worker.replicas}'
            2
            $ kubectl apply -k overlays/ddp --server-side
            configmap/settings-dmd8m2m7kg serverside-applied
            pytorchjob.kubeflow.org/pytorch-dist-job serverside-applied
            $ kubectl delete pytorchjob pytorch-dist-job
            pytorchjob.kubeflow.org "pytorch-dist-job" deleted
        """)


class TestRuntimes:
    @pytest.fixture
    def copy(self, console: Console) -> Console:
        """A runtime of the test's own, made from a shipped one."""
        console.write(
            copy_yaml=console.says(
                "kubectl get clustertrainingruntime torch-distributed -o yaml --show-managed-fields=false"
            ).replace("name: torch-distributed", f"name: {console.unique}", 1)
        )
        console.says("kubectl replace --force -f copy.yaml")
        return console

    def test_are_edited(self, copy: Console) -> None:
        script = r"s/^    spec:$/    spec:\n      failurePolicy: {maxRestarts: 10}/"
        copy.write(editor_sh=f"sed -i '{script}' \"$1\"\n")
        copy.plays(r"""
            $ KUBE_EDITOR="sh editor.sh" kubectl edit clustertrainingruntime UNIQUE
            clustertrainingruntime.trainer.kubeflow.org/UNIQUE edited
            $ kubectl get clustertrainingruntime UNIQUE -o jsonpath='{.spec.template.spec.failurePolicy}'
            {"maxRestarts":10,"restartStrategy":"Recreate"}
            $ kubectl delete clustertrainingruntime UNIQUE
            clustertrainingruntime.trainer.kubeflow.org "UNIQUE" deleted
        """)
