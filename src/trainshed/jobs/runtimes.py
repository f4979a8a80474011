"""The runtimes a TrainJob can refer to, and what is said about one that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

from trainshed.client.client import Client
from trainshed.kinds.trainer import runtimes
from trainshed.kube.objects import Object, text

CLUSTER: Final = "ClusterTrainingRuntime"
KINDS: Final = (CLUSTER, "TrainingRuntime")
_MOST_NAMED: Final = 3


def shipped() -> list[Object]:
    """The ClusterTrainingRuntimes that come with Trainshed."""
    return list(runtimes.manifests())


async def fetch(client: Client, namespace: str) -> list[Object]:
    """All that the server has for a namespace."""
    wide = (await client.list("clustertrainingruntimes")).items
    return wide + (await client.list("trainingruntimes", namespace)).items


def named(found: Sequence[Object]) -> dict[str, list[str]]:
    """Names by kind."""
    return {
        kind: [text(obj, "metadata", "name") for obj in found if obj.get("kind") == kind] for kind in KINDS
    }


def suggestion(kind: str, name: str, known: Mapping[str, Sequence[str]]) -> str:
    """What may have been meant: `did you mean "torch-distributed"?`; empty where nothing is near."""
    for other in KINDS:
        if other != kind and name in known.get(other, ()):
            return f'there is a {other} of that name: set runtimeRef.kind to "{other}"'
    there = known.get(kind, ())
    near = difflib.get_close_matches(name, there, n=1) or [found for found in there if name and name in found]
    listed = " or ".join(f'"{found}"' for found in near[:_MOST_NAMED])
    return f"did you mean {listed}?" if near else ""


def absence(kind: str, name: str, known: Mapping[str, Sequence[str]]) -> str:
    """That there is no such runtime, with what may have been meant; empty where there is."""
    if name in known.get(kind, ()):
        return ""
    near = suggestion(kind, name, known)
    return f'there is no {kind} "{name}"{"; " + near if near else ""}'
