"""Objects and an in-memory `Lookup` for the access tests."""

from __future__ import annotations

from collections.abc import Iterable

from trainshed.apiserver.access.identity import AUTHENTICATED, Identity
from trainshed.kube.objects import Object

RBAC = "rbac.authorization.k8s.io"
_RESOURCES = {
    "ClusterRole": f"clusterroles.{RBAC}",
    "ClusterRoleBinding": f"clusterrolebindings.{RBAC}",
    "Role": f"roles.{RBAC}",
    "RoleBinding": f"rolebindings.{RBAC}",
    "ServiceAccount": "serviceaccounts",
    "Pod": "pods",
    "Secret": "secrets",
    "Node": "nodes",
}

Key = tuple[str, str, str]


class Shelf:
    """Objects by kind, namespace and name; every change counts up the revision."""

    def __init__(self, *objects: Object) -> None:
        self._objects: dict[Key, Object] = {}
        self._revision = 0
        for obj in objects:
            self.put(obj)

    def put(self, obj: Object) -> None:
        self._objects[_key(obj)] = obj
        self._revision += 1

    def drop(self, obj: Object) -> None:
        del self._objects[_key(obj)]
        self._revision += 1

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return self._objects.get((resource, namespace, name))

    def list(self, resource: str, namespace: str | None) -> Iterable[Object]:
        return [
            obj
            for key, obj in sorted(self._objects.items())
            if key[0] == resource and namespace in (None, key[1])
        ]

    def revision_of(self, resources: tuple[str, ...]) -> int:
        return self._revision


def _key(obj: Object) -> Key:
    metadata = obj["metadata"]
    return _RESOURCES[obj["kind"]], metadata.get("namespace", ""), metadata["name"]


def an_object(kind: str, name: str, namespace: str = "", uid: str = "", **fields: object) -> Object:
    metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}"}
    return {"kind": kind, "metadata": {key: value for key, value in metadata.items() if value}, **fields}


def a_rule(verbs: str, resources: str = "", groups: str = "", names: str = "", urls: str = "") -> Object:
    """Lists written as words: `a_rule("get list", "pods pods/log")`; the core group unless told."""
    rule: Object = {"verbs": verbs.split()}
    if resources:
        rule |= {"apiGroups": groups.split() or [""], "resources": resources.split()}
    if names:
        rule["resourceNames"] = names.split()
    if urls:
        rule["nonResourceURLs"] = urls.split()
    return rule


def a_cluster_role(
    name: str, *rules: Object, labels: dict[str, str] | None = None, gathers: str = ""
) -> Object:
    role = an_object("ClusterRole", name, rules=list(rules))
    role["metadata"]["labels"] = labels or {}
    if gathers:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {gathers: "true"}}]}
    return role


def a_role(name: str, namespace: str, *rules: Object) -> Object:
    return an_object("Role", name, namespace, rules=list(rules))


def a_binding(role: Object, *subjects: str, namespace: str = "", name: str = "") -> Object:
    """A ClusterRoleBinding, or with a namespace a RoleBinding; subjects as `User:jane`, `Group:devs`."""
    return an_object(
        "RoleBinding" if namespace else "ClusterRoleBinding",
        name or role["metadata"]["name"],
        namespace,
        roleRef={"apiGroup": RBAC, "kind": role["kind"], "name": role["metadata"]["name"]},
        subjects=[_subject(subject) for subject in subjects],
    )


def _subject(written: str) -> Object:
    kind, name = written.split(":", 1)
    if kind == "ServiceAccount" and "/" in name:
        namespace, name = name.split("/")
        return {"kind": kind, "namespace": namespace, "name": name}
    return {"kind": kind, "name": name}


def a_user(name: str = "jane", *groups: str) -> Identity:
    return Identity(name, groups=(*groups, AUTHENTICATED))
