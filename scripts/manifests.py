"""Write the manifests in deploy/ that the code also has: tenants' roles, runtimes that are not upstream's.

Run it after changing one of them; a test compares.
"""

from __future__ import annotations

from pathlib import Path

import yaml

from trainshed.backend.tenancy import roles
from trainshed.kinds.trainer import runtimes
from trainshed.kube.objects import Object

DEPLOY = Path(__file__).parent.parent / "deploy"


def files() -> dict[Path, list[Object]]:
    """What each file has to hold."""
    shipped = {
        DEPLOY / "runtimes" / f"{found['metadata']['name']}.yaml": [found] for found in runtimes.ours()
    }
    return {DEPLOY / "base" / "tenants.yaml": [roles.namespaced(), roles.cluster_wide()], **shipped}


class _Dumper(yaml.SafeDumper):
    """Scripts as people write them: one line below the other."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def main() -> None:
    for path, objects in files().items():
        path.write_text(yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False), encoding="utf-8")
    names = sorted(path.name for path in files() if path.parent.name == "runtimes")
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": names,
    }
    (DEPLOY / "runtimes" / "kustomization.yaml").write_text(yaml.safe_dump(kustomization, sort_keys=False))


if __name__ == "__main__":
    main()
