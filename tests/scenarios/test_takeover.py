"""Kinds and runtimes that come with the server belong to whoever applies their own edition of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.clients.console import Console
from tests.servers import Server

DEFINITION = "crd/mxjobs.kubeflow.org"
LABEL = "trainshed.dev/digest"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "server")
    yield server
    if server.process is not None and server.process.poll() is None:
        server.stop()


def console(server: Server, folder: Path) -> Console:
    cluster = server.start()
    folder.mkdir(exist_ok=True)
    return Console(cluster, folder, "default", "unused")


def test_applying_another_edition_is_no_conflict(server: Server, tmp_path: Path) -> None:
    kubectl = console(server, tmp_path / "desk")
    kubectl.write(
        runtime_yaml="""
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: torch-distributed}
        spec: {mlPolicy: {numNodes: 3}}
        """
    )
    ours = _without_identity(kubectl.says(f"kubectl get {DEFINITION} -o yaml"))
    kubectl.write(crd_yaml=ours.replace("  names:\n", "  names:\n    categories: [theirs]\n", 1))
    kubectl.plays(r"""
        $ kubectl apply --server-side -f crd.yaml
        customresourcedefinition.apiextensions.k8s.io/mxjobs.kubeflow.org serverside-applied
        $ kubectl get crd mxjobs.kubeflow.org -o jsonpath={.status.acceptedNames.categories}
        ["theirs"]
        $ kubectl apply --server-side -f runtime.yaml
        clustertrainingruntime.trainer.kubeflow.org/torch-distributed serverside-applied
        $ kubectl get clustertrainingruntime torch-distributed -o jsonpath={.spec.mlPolicy.numNodes}
        3
    """)


def test_installing_trainer_by_its_own_manifests_is_no_conflict(server: Server, tmp_path: Path) -> None:
    """What its overlays hold beside kinds and runtimes: a note of its version, and roles for platforms."""
    kubectl = console(server, tmp_path / "desk")
    kubectl.write(
        install_yaml="""
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: kubeflow-trainer-public, namespace: kubeflow-system}
        data: {kubeflow_trainer_version: v0.0.1}
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: kubeflow-trainer-public, namespace: kubeflow-system}
        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: kubeflow-trainer-public, namespace: kubeflow-system}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: kubeflow-trainer-public}
        subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: somebody}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata:
          name: kubeflow-trainer-admin
          labels: {rbac.authorization.kubeflow.org/aggregate-to-kubeflow-admin: "yes"}
        aggregationRule:
          clusterRoleSelectors:
          - matchLabels: {rbac.authorization.kubeflow.org/aggregate-to-kubeflow-trainer-admin: "true"}
        rules: []
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: kubeflow-trainer-edit}
        rules: [{apiGroups: [trainer.kubeflow.org], resources: [trainjobs], verbs: [create]}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: kubeflow-training-view}
        rules: [{apiGroups: [kubeflow.org], resources: [mpijobs], verbs: [get]}]
        ---
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: kubeflow-trainer-view-cluster-runtimes}
        roleRef:
          apiGroup: rbac.authorization.k8s.io
          kind: ClusterRole
          name: kubeflow-trainer-view-cluster-runtimes
        subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: somebody}]
        """
    )
    for _ in range(2):
        said = kubectl.says("kubectl apply --server-side -f install.yaml")
        assert said.count("serverside-applied") == 7
    kubectl.plays(r"""
        $ kubectl get cm -n kubeflow-system kubeflow-trainer-public -o jsonpath={.data}
        {"kubeflow_trainer_version":"v0.0.1"}
        $ kubectl get clusterrole kubeflow-trainer-edit -o jsonpath={.rules[*].verbs}
        ["create"]
    """)


def test_an_older_edition_does_not_take_the_newer_dialect_away(server: Server, tmp_path: Path) -> None:
    """What users do who follow the manual of Trainer v2.1: its CRD does not know runtimePatches."""
    kubectl = console(server, tmp_path / "desk")
    crd = yaml.safe_load(
        _without_identity(kubectl.says("kubectl get crd/trainjobs.trainer.kubeflow.org -o yaml"))
    )
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    del fields["runtimePatches"], fields["activeDeadlineSeconds"]
    kubectl.write(
        crd_yaml=yaml.safe_dump(crd),
        job_yaml="""
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: TrainJob
        metadata: {name: both}
        spec:
          runtimeRef: {name: torch-distributed}
          activeDeadlineSeconds: 60
          podTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]
        """,
    )
    kubectl.says("kubectl apply --server-side -f crd.yaml")
    server.stop()
    kubectl = console(server, tmp_path / "desk")
    kubectl.says("kubectl apply -f job.yaml")
    found = kubectl.says("kubectl get trainjob both -o jsonpath={.spec.activeDeadlineSeconds}")
    assert found.strip() == "60"
    assert "podTemplateOverrides" in kubectl.says("kubectl explain trainjob.spec")
    assert "runtimePatches" in kubectl.says("kubectl explain trainjob.spec")


def test_a_newer_edition_replaces_ours_but_not_theirs(server: Server, tmp_path: Path) -> None:
    kubectl = console(server, tmp_path / "desk")
    old = f'{{"metadata":{{"labels":{{"{LABEL}":"old"}}}}}}'
    theirs = '{"spec":{"mlPolicy":{"numNodes":7}}}'
    for name in ("torch-distributed", "jax-distributed"):
        kubectl.says(f"kubectl patch clustertrainingruntime {name} --type=merge -p '{old}'")
    kubectl.says(f"kubectl patch clustertrainingruntime jax-distributed --type=merge -p '{theirs}'")
    server.stop()
    kubectl = console(server, tmp_path / "desk")
    shown = kubectl.says(
        "kubectl get clustertrainingruntimes torch-distributed jax-distributed "
        f"-L {LABEL} --no-headers -o custom-columns=E:.metadata.labels.trainshed\\\\.dev/digest,"
        "N:.spec.mlPolicy.numNodes"
    )
    (ours, one), (kept, seven) = (line.split() for line in shown.splitlines())
    assert (one, seven) == ("1", "7")
    assert kept == "old"
    assert ours != "old"


def _without_identity(manifest: str) -> str:
    dropped = ("  creationTimestamp:", "  generation:", "  resourceVersion:", "  uid:")
    lines = manifest.split("\nstatus:")[0].splitlines()
    return "\n".join(line for line in lines if not line.startswith(dropped)) + "\n"
