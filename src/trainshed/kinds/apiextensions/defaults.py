"""What the server fills into a CustomResourceDefinition by itself."""

from __future__ import annotations

from trainshed.kinds.reading import child, entries, fill, texts
from trainshed.kube.objects import Object, dig, text


def defaults(crd: Object) -> None:
    spec = child(crd, "spec")
    names = child(spec, "names")
    kind = text(names, "kind")
    if kind:
        fill(names, singular=kind.lower(), listKind=f"{kind}List")
    if not isinstance(spec.get("conversion"), dict):
        spec["conversion"] = {"strategy": "None"}
    service = dig(spec, "conversion", "webhook", "clientConfig", "service")
    if isinstance(service, dict):
        fill(service, port=443)


def on_create(crd: Object) -> None:
    """A new definition knows nothing yet but the version its objects will be stored in."""
    crd["status"] = {
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": [],
        "storedVersions": storage_versions(crd)[:1],
    }


def on_update(new: Object, old: Object) -> None:
    status = dict(old["status"]) if isinstance(old.get("status"), dict) else {}
    stored = [version for version in texts(status, "storedVersions") if version]
    status["storedVersions"] = stored + [name for name in storage_versions(new)[:1] if name not in stored]
    new["status"] = status


def storage_versions(crd: Object) -> list[str]:
    """The versions marked as stored; in a valid definition exactly one."""
    versions = entries(crd, "spec", "versions")
    return [text(version, "name") for version in versions if version.get("storage") is True]
