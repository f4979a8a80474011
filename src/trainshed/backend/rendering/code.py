"""The code of a job as a ConfigMap of its own: what it holds, and how its files lie in the volume."""

from __future__ import annotations

from trainshed.backend.rendering import shell
from trainshed.backend.rendering.literal import unexpanded
from trainshed.backend.rendering.wanted import Files, Git, Inline, Wanted
from trainshed.jobs import bundle
from trainshed.jobs.bundle import Bundle, File
from trainshed.kinds.trainer import git_clone
from trainshed.kube.objects import Object

CODE_VOLUME = "train-script"
CLONE_VOLUME = "git-clone-script"
CHECKOUT_VOLUME = "git-clone-volume"
CREDENTIALS_VOLUME = "git-credentials"
SCRIPT = "train.py"


def content(wanted: Wanted) -> Object | None:
    """`data` and `binaryData` of the ConfigMap, where there is something to send."""
    match wanted.code:
        case Inline(text):
            return {"data": {SCRIPT: text}}
        case Files(files):
            return bundle.content(_bundle(files))
        case Git() if shell.clones_itself(wanted):
            return {"data": {git_clone.FILE: git_clone.SCRIPT}}
    return None


def volumes(wanted: Wanted, config_map: str) -> list[Object]:
    match wanted.code:
        case Inline():
            return [{"name": CODE_VOLUME, "configMap": {"name": config_map, "defaultMode": 0o755}}]
        case Files(files):
            source = {"name": config_map, "items": bundle.items(_bundle(files))}
            return [{"name": CODE_VOLUME, "configMap": source}]
        case Git() as git:
            return [*_credentials(git), *(_checkout(config_map) if shell.clones_itself(wanted) else [])]
    return []


def mounts(wanted: Wanted) -> list[Object]:
    """Of the main container."""
    match wanted.code:
        case None:
            return []
        case Git() as git if shell.clones_itself(wanted):
            script = {
                "name": CLONE_VOLUME,
                "mountPath": shell.CLONE_SCRIPT.rpartition("/")[0],
                "readOnly": True,
            }
            checkout = {"name": CHECKOUT_VOLUME, "mountPath": shell.CODE_FOLDER}
            return [script, checkout, *credential_mounts(git)]
        case Git():
            return [{"name": CHECKOUT_VOLUME, "mountPath": shell.CODE_FOLDER}]
    return [{"name": CODE_VOLUME, "mountPath": shell.CODE_FOLDER, "readOnly": True}]


def credential_mounts(git: Git) -> list[Object]:
    mount = {"name": CREDENTIALS_VOLUME, "mountPath": git_clone.CREDENTIALS, "readOnly": True}
    return [mount] if git.secret else []


def clone_env(wanted: Wanted) -> list[Object]:
    """What the cloning container (or script) is told."""
    if not isinstance(wanted.code, Git):
        return []
    said = {"GIT_SYNC_REPO": wanted.code.url, "GIT_SYNC_BRANCH": wanted.code.ref}
    if shell.clones_itself(wanted):
        said["GIT_SYNC_ROOT"] = shell.CODE_FOLDER
    return [{"name": name, "value": unexpanded(value)} for name, value in said.items()]


def _credentials(git: Git) -> list[Object]:
    # Whoever the container runs as must read them; the script copies a key to where only it can.
    secret = {"secretName": git.secret, "defaultMode": 0o444}
    return [{"name": CREDENTIALS_VOLUME, "secret": secret}] if git.secret else []


def _checkout(config_map: str) -> list[Object]:
    return [
        {"name": CLONE_VOLUME, "configMap": {"name": config_map, "defaultMode": 0o755}},
        {"name": CHECKOUT_VOLUME, "emptyDir": {}},
    ]


def _bundle(files: tuple[tuple[str, bytes], ...]) -> Bundle:
    return Bundle(tuple(File(path, content) for path, content in sorted(files)))
