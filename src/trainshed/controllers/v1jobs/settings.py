"""What an operator may decide about the pods of v1 jobs; upstream has flags for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Settings:
    init_image: str = "alpine:3.10"
    """Of the container in which a PyTorchJob's workers wait for their master."""
    kubectl_image: str = "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest"
    """Of the container that brings kubectl to an MPIJob's launcher."""
    cluster_domain: str = ""
    """Behind the names in TF_CONFIG, on clusters that need it there."""


DEFAULTS = Settings()


def read(environment: Mapping[str, str]) -> Settings:
    """From the operator's own environment; the last one has upstream's name."""
    named = {
        "init_image": environment.get("TRAINSHED_PYTORCH_INIT_IMAGE", ""),
        "kubectl_image": environment.get("TRAINSHED_MPI_KUBECTL_IMAGE", ""),
        "cluster_domain": environment.get("CUSTOM_CLUSTER_DOMAIN", ""),
    }
    return replace(DEFAULTS, **{name: value for name, value in named.items() if value})
