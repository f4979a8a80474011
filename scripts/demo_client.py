"""The demo for machines without kubectl: apply a folder of manifests with our own client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import yaml

from trainshed.client import kubeconfig
from trainshed.client.client import Client
from trainshed.kube.objects import Object


async def main(config: Path, manifests: list[Object]) -> None:
    async with Client.connect(kubeconfig.load(config), manager="demo") as client:
        for runtime in (await client.list("clustertrainingruntimes")).items:
            print("runtime", runtime["metadata"]["name"])
        for manifest in manifests:
            stored = await client.apply(manifest)
            metadata = stored["metadata"]
            print(f"applied {stored['kind']} {metadata['namespace']}/{metadata['name']}", end=" ")
            print(f"(uid {metadata['uid']}, resource version {metadata['resourceVersion']})")


def read(folder: Path) -> list[Object]:
    texts = (path.read_text() for path in sorted(folder.glob("*.yaml")))
    return [manifest for text in texts for manifest in yaml.safe_load_all(text)]


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), read(Path(sys.argv[2]))))
