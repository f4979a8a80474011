"""The demo for machines without kubectl: apply a folder of manifests with our own client, print what is there."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import yaml

from trainshed.client import kubeconfig
from trainshed.client.client import Client


async def main(config: Path, folder: Path) -> None:
    async with Client.connect(kubeconfig.load(config), manager="demo") as client:
        for runtime in (await client.list("clustertrainingruntimes")).items:
            print("runtime", runtime["metadata"]["name"])
        for path in sorted(folder.glob("*.yaml")):
            for manifest in yaml.safe_load_all(path.read_text()):
                stored = await client.apply(manifest)
                metadata = stored["metadata"]
                print(f"applied {stored['kind']} {metadata['namespace']}/{metadata['name']}", end=" ")
                print(f"(uid {metadata['uid']}, resource version {metadata['resourceVersion']})")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
