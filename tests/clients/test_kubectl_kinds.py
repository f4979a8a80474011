"""kubectl on kinds: discovery, explain, and a kind made while the server runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients.console import Console

DEFINITION = """
    apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: robots.UNIQUE.example.com}
    spec:
      group: UNIQUE.example.com
      scope: Namespaced
      names: {plural: robots, singular: robot, kind: Robot, categories: [UNIQUE]}
      versions:
      - name: v1
        served: true
        storage: true
        subresources:
          status: {}
          scale:
            specReplicasPath: .spec.arms
            statusReplicasPath: .status.arms
            labelSelectorPath: .status.sel
        additionalPrinterColumns:
        - {name: Arms, type: integer, jsonPath: .spec.arms}
        - {name: Phase, type: string, jsonPath: .status.phase}
        - {name: Since, type: date, jsonPath: .metadata.creationTimestamp}
        - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
        schema:
          openAPIV3Schema:
            type: object
            description: A machine with arms.
            required: [spec]
            properties:
              spec:
                type: object
                description: What it should be.
                required: [arms]
                x-kubernetes-validations:
                - {rule: "self.arms < 10 || self.color == 'red'", message: many arms must be red}
                properties:
                  arms: {type: integer, description: How many.}
                  color: {type: string, enum: [red, blue], default: blue}
                  fixed:
                    type: string
                    x-kubernetes-validations: [{rule: self == oldSelf, message: fixed is fixed}]
              status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
ROBOT = """
    apiVersion: UNIQUE.example.com/v1
    kind: Robot
    metadata: {name: r2, labels: {a: b}}
    spec: {arms: 2, fixed: x}
"""


@pytest.fixture
def robots(console: Console) -> Iterator[Console]:
    """A new kind, and one of it."""
    console.write(crd_yaml=DEFINITION, robot_yaml=ROBOT)
    console.says("kubectl create -f crd.yaml")
    console.says("kubectl wait --for=condition=Established crd/robots.UNIQUE.example.com --timeout=30s")
    console.says("kubectl create -f robot.yaml")
    yield console
    console.says("kubectl delete --ignore-not-found --wait=false crd robots.UNIQUE.example.com")


class TestDefinitions:
    def test_are_served_at_once(self, console: Console) -> None:
        console.write(crd_yaml=DEFINITION)
        lines = console.words(console.says("kubectl explain pod.spec.containers.resources")).splitlines()
        assert lines[:3] == ["KIND: Pod", "VERSION: v1", "FIELD: resources <ResourceRequirements>"]
        assert "limits <map[string]Quantity>" in lines
        assert "claims <[]ResourceClaim>" in lines

    def test_recursively(self, console: Console) -> None:
        shown = console.says("kubectl explain pod.spec.affinity.nodeAffinity --recursive")
        assert "    preference\t<NodeSelectorTerm> -required-\n      matchExpressions\t<[]NodeSel" in shown

    def test_of_nothing(self, console: Console) -> None:
        console.plays(r"""
            ! kubectl explain pod.spec.nosuch
            KIND:       Pod
            VERSION:    v1

            error: field "nosuch" does not exist
            ! kubectl explain nosuch
            the server doesn't have a resource type "nosuch"
        """)


class TestDiscovery:
    def test_resources(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl api-resources --api-group=apps
            NAME                  SHORTNAMES   APIVERSION   NAMESPACED   KIND
            controllerrevisions                apps/v1      true         ControllerRevision
            daemonsets            ds           apps/v1      true         DaemonSet
            deployments           deploy       apps/v1      true         Deployment
            replicasets           rs           apps/v1      true         ReplicaSet
            statefulsets          sts          apps/v1      true         StatefulSet
            $ kubectl api-resources --api-group=batch -o wide
            NAME     SHORTNAMES APIVERSION NAMESPACED KIND    VERBS CATEGORIES
            cronjobs cj batch/v1 true CronJob create,delete,deletecollection,get,list,patch,update,watch all
            jobs        batch/v1 true Job     create,delete,deletecollection,get,list,patch,update,watch all
            $ kubectl api-resources --api-group=authorization.k8s.io -o name
            localsubjectaccessreviews.authorization.k8s.io
            selfsubjectaccessreviews.authorization.k8s.io
            selfsubjectrulesreviews.authorization.k8s.io
            subjectaccessreviews.authorization.k8s.io
        """)

    def test_versions(self, console: Console) -> None:
        versions = console.says("kubectl api-versions").split()
        assert {"v1", "apps/v1", "batch/v1", "apiextensions.k8s.io/v1", "events.k8s.io/v1"} <= set(versions)

    def test_the_server(self, console: Console) -> None:
        console.plays(r"""
            $ kubectl cluster-info
            Kubernetes control plane is running at ADDRESS
            To further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.
        """)
        assert "Server Version: v1.32." in console.says("kubectl version")
        assert "REDACTED" in console.says("kubectl config view")
