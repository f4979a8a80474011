"""Which server to talk to and as whom: kubeconfig files, their contexts, or the pod this process runs in.

Files named by KUBECONFIG are merged as kubectl merges them: for every name, and for the current context, the
first file that has it wins. A relative path inside a file is relative to that file.
Anything unusable is one `BadConfig` line.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml

from trainshed.client.failures import BadConfig
from trainshed.kube.objects import JSON

IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# --- what the rest of the client needs ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential."""

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = "client.authentication.k8s.io/v1"
    interactive: str = "IfAvailable"
    provide_cluster: bool = False
    install_hint: str = ""

    def __str__(self) -> str:
        return f"the exec plugin {self.command}"


@dataclass(frozen=True, slots=True)
class User:
    """How requests prove who sends them; secrets are kept out of `repr`."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    username: str = ""
    password: str = field(default="", repr=False)
    exec: ExecPlugin | None = None
    impersonate: tuple[tuple[str, str], ...] = ()
    """Impersonation headers, in order; a name may repeat."""


@dataclass(frozen=True, slots=True)
class Config:
    server: str
    """`https://host:port/prefix`, `http://…`, or `unix:///path` for a local socket."""
    authority: bytes = b""
    """PEM certificates to trust instead of the system's."""
    insecure: bool = False
    tls_name: str = ""
    namespace: str = "default"
    user: User = User()
    context: str = ""
    source: str = ""
    """Where this came from, for messages."""


# --- the file's own form ------------------------------------------------------------------------------------


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str
    api_version: str = ""
    args: tuple[str, ...] | None = ()
    env: tuple[_EnvVar, ...] | None = ()
    interactive_mode: str = ""
    provide_cluster_info: bool = False
    install_hint: str = ""


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: _Exec | None = None
    auth_provider: dict[str, JSON] | None = None
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: tuple[str, ...] | None = ()
    as_user_extra: dict[str, tuple[str, ...]] | None = None


class _Context(msgspec.Struct, frozen=True, rename="kebab"):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster | None = None


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context | None = None


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    clusters: tuple[_NamedCluster, ...] | None = ()
    users: tuple[_NamedUser, ...] | None = ()
    contexts: tuple[_NamedContext, ...] | None = ()
    current_context: str | None = ""


_Entry = TypeVar("_Entry", _Cluster, _User, _Context)


@dataclass(frozen=True, slots=True)
class _Merged:
    """All files as one; each entry remembers the folder its relative paths start from."""

    clusters: Mapping[str, tuple[_Cluster, Path]]
    users: Mapping[str, tuple[_User, Path]]
    contexts: Mapping[str, tuple[_Context, Path]]
    current: str
    source: str


# --- loading ------------------------------------------------------------------------------------------------


def load(
    path: str | Path | None = None,
    context: str = "",
    env: Mapping[str, str] | None = None,
    pod: Path = IN_CLUSTER,
) -> Config:
    """What kubectl would use: `path`, else KUBECONFIG, else ~/.kube/config, else the pod of this process."""
    env = os.environ if env is None else env
    candidates = [Path(path)] if path else _candidates(env)
    files = [file for file in candidates if path or _may_be_there(file)]
    if files:
        return _chosen(_merged(files), context)
    if env.get("KUBERNETES_SERVICE_HOST") and not path:
        return in_cluster(env, pod)
    looked = ", ".join(str(file) for file in candidates)
    raise BadConfig(f"there is no kubeconfig (looked for {looked}) and this process does not run in a pod")


def in_cluster(env: Mapping[str, str], folder: Path = IN_CLUSTER) -> Config:
    """The API server of the pod this process runs in, with the pod's service account."""
    host, port = env.get("KUBERNETES_SERVICE_HOST", ""), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise BadConfig("KUBERNETES_SERVICE_HOST is not set: this process does not run in a pod")
    shown = f"[{host}]" if ":" in host else host
    namespace_file = folder / "namespace"
    return Config(
        server=f"https://{shown}:{port}",
        authority=_bytes_of(folder / "ca.crt", "the pod's CA"),
        namespace=namespace_file.read_text().strip() if namespace_file.exists() else "default",
        user=User(token_file=folder / "token"),
        source="the pod's service account",
    )


def _candidates(env: Mapping[str, str]) -> list[Path]:
    if listed := [Path(item) for item in env.get("KUBECONFIG", "").split(os.pathsep) if item]:
        return listed
    home = env.get("HOME")
    return [(Path(home) if home else Path.home()) / ".kube" / "config"]


def _may_be_there(file: Path) -> bool:
    """Where we may not even look, reading it says why."""
    try:
        return file.exists()
    except OSError:
        return True


def _merged(files: Sequence[Path]) -> _Merged:
    clusters: dict[str, tuple[_Cluster, Path]] = {}
    users: dict[str, tuple[_User, Path]] = {}
    contexts: dict[str, tuple[_Context, Path]] = {}
    current = ""
    for file in files:
        parsed, folder = _parsed(file), file.absolute().parent
        for cluster in parsed.clusters or ():
            clusters.setdefault(cluster.name, (cluster.cluster or _Cluster(), folder))
        for user in parsed.users or ():
            users.setdefault(user.name, (user.user or _User(), folder))
        for context in parsed.contexts or ():
            contexts.setdefault(context.name, (context.context or _Context(), folder))
        current = current or parsed.current_context or ""
    return _Merged(clusters, users, contexts, current, os.pathsep.join(str(file) for file in files))


def _parsed(file: Path) -> _File:
    try:
        document = yaml.load(_bytes_of(file, "the kubeconfig"), Loader=_Loader)
        return msgspec.convert({} if document is None else document, _File)
    except yaml.YAMLError as broken:
        raise BadConfig(f"{file} is not YAML: {' '.join(str(broken).split())}") from broken
    except (msgspec.ValidationError, UnicodeDecodeError) as broken:
        raise BadConfig(f"{file} is not a kubeconfig: {broken}") from broken


# --- choosing -----------------------------------------------------------------------------------------------


def _chosen(merged: _Merged, wanted: str) -> Config:
    name = wanted or merged.current
    if not name:
        raise BadConfig(f"{merged.source} has no current-context{_offer(merged.contexts)}")
    context, _ = _entry(merged.contexts, name, "context", merged.source)
    cluster, folder = _entry(merged.clusters, context.cluster, "cluster", merged.source)
    _check(cluster, context.cluster, merged.source)
    return Config(
        server=cluster.server.rstrip("/"),
        authority=_authority(cluster, folder),
        insecure=cluster.insecure_skip_tls_verify,
        tls_name=cluster.tls_server_name,
        namespace=context.namespace or "default",
        user=_user(*_entry(merged.users, context.user, "user", merged.source)) if context.user else User(),
        context=name,
        source=merged.source,
    )


def _entry(
    entries: Mapping[str, tuple[_Entry, Path]], name: str, what: str, source: str
) -> tuple[_Entry, Path]:
    if name not in entries:
        raise BadConfig(f"{source} has no {what} {name!r}{_offer(entries)}")
    return entries[name]


def _offer(entries: Mapping[str, JSON]) -> str:
    return f"; it has {', '.join(sorted(entries))}" if entries else ""


def _check(cluster: _Cluster, name: str, source: str) -> None:
    where = f"cluster {name!r} of {source}"
    scheme = urlsplit(cluster.server).scheme
    if scheme not in ("http", "https", "unix"):
        raise BadConfig(f"{where} needs a server that starts with https:// (got {cluster.server!r})")
    if cluster.proxy_url:
        raise BadConfig(f"{where} wants the proxy {cluster.proxy_url}: proxies are not supported")
    has_authority = cluster.certificate_authority or cluster.certificate_authority_data
    if cluster.insecure_skip_tls_verify and has_authority:
        raise BadConfig(f"{where} has both a certificate authority and insecure-skip-tls-verify")


def _authority(cluster: _Cluster, folder: Path) -> bytes:
    file, inline = cluster.certificate_authority, cluster.certificate_authority_data
    return _pem(file, inline, folder, "certificate-authority")


def _user(user: _User, folder: Path) -> User:
    if user.auth_provider is not None:
        provider = user.auth_provider.get("name", "")
        raise BadConfig(f"the auth-provider {provider!r} left Kubernetes; use an exec plugin instead")
    certificate = _pem(user.client_certificate, user.client_certificate_data, folder, "client-certificate")
    key = _pem(user.client_key, user.client_key_data, folder, "client-key")
    if bool(certificate) != bool(key):
        raise BadConfig("the kubeconfig has only one of client certificate and client key")
    return User(
        token=user.token,
        token_file=folder / user.token_file if user.token_file else None,
        certificate=certificate,
        key=key,
        username=user.username,
        password=user.password,
        exec=_plugin(user.exec, folder) if user.exec else None,
        impersonate=tuple(_impersonation(user)),
    )


def _plugin(plugin: _Exec, folder: Path) -> ExecPlugin:
    versions = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
    if plugin.api_version not in versions:
        known = " and ".join(versions)
        raise BadConfig(f"{plugin.command} has the apiVersion {plugin.api_version!r}; known are {known}")
    if plugin.interactive_mode not in ("", "Never", "IfAvailable", "Always"):
        raise BadConfig(f"{plugin.command} has an unknown interactiveMode {plugin.interactive_mode!r}")
    # A command with a slash is a path, relative to the file; a bare one is looked up in PATH.
    command = str(folder / plugin.command) if "/" in plugin.command else plugin.command
    return ExecPlugin(
        command=command,
        args=plugin.args or (),
        env=tuple((item.name, item.value) for item in plugin.env or ()),
        api_version=plugin.api_version,
        interactive=plugin.interactive_mode or "IfAvailable",
        provide_cluster=plugin.provide_cluster_info,
        install_hint=" ".join(plugin.install_hint.split()),
    )


def _impersonation(user: _User) -> list[tuple[str, str]]:
    pairs = [("Impersonate-User", user.as_), ("Impersonate-Uid", user.as_uid)]
    pairs += [("Impersonate-Group", group) for group in user.as_groups or ()]
    for key, values in (user.as_user_extra or {}).items():
        pairs += [(f"Impersonate-Extra-{key}", value) for value in values]
    return [(name, value) for name, value in pairs if value]


def _pem(file: str, inline: str, folder: Path, what: str) -> bytes:
    """Inline data wins over a file, as in client-go."""
    if not inline:
        return _bytes_of(folder / file, what) if file else b""
    try:
        return base64.b64decode(inline, validate=True)
    except (binascii.Error, ValueError) as broken:
        raise BadConfig(f"{what}-data is not base64: {broken}") from broken


def _bytes_of(file: Path, what: str) -> bytes:
    try:
        return file.read_bytes()
    except OSError as refused:
        raise BadConfig(f"cannot read {what} {file}: {refused.strerror}") from refused
