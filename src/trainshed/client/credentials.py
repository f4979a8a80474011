"""Who we are on each request: fixed tokens and certificates, token files that are re-read, exec plugins."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from trainshed.client.failures import NoCredentials
from trainshed.client.kubeconfig import Config, ExecPlugin, User
from trainshed.kube.objects import Object, encode

_EARLY = timedelta(seconds=10)
"""A credential is renewed this long before it ends, so that it does not end under way."""
_PLUGIN_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Proof:
    """What one request presents: headers, and a client certificate for the handshake."""

    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)


class Credentials:
    """The user's proofs over time; `forget` after a 401 makes the next `proof` a fresh one."""

    def __init__(self, config: Config, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._user, self._config, self._now = config.user, config, now
        self._from_plugin: _Issued | None = None
        self._asking = asyncio.Lock()
        self._last_token = config.user.token
        is_fixed = config.user.exec is None and config.user.token_file is None
        self._fixed = self._proof(_Issued(config.user.token)) if is_fixed else None

    async def proof(self) -> Proof:
        if self._fixed is not None:
            return self._fixed
        if self._user.exec:
            return self._proof(await self._issued(self._user.exec))
        return self._proof(_Issued(self._current_token(), self._user.certificate, self._user.key))

    def forget(self) -> bool:
        """Drop what an exec plugin gave; False when a new try could only send the same again."""
        had, self._from_plugin = self._from_plugin is not None, None
        return had

    def _proof(self, issued: _Issued) -> Proof:
        pairs = [("Authorization", value)] if (value := _authorization(self._user, issued.token)) else []
        holder = issued if issued.certificate else self._user
        return Proof((*pairs, *self._user.impersonate), holder.certificate, holder.key)

    def _current_token(self) -> str:
        """The token file's present content; a file that is just being replaced leaves the last one in use."""
        if (file := self._user.token_file) is None:
            return self._user.token
        try:
            self._last_token = file.read_text().strip() or self._last_token
        except OSError as refused:
            if not self._last_token:
                raise NoCredentials(f"cannot read the token file {file}: {refused.strerror}") from refused
        return self._last_token

    async def _issued(self, plugin: ExecPlugin) -> _Issued:
        async with self._asking:  # many requests at once start one plugin, not many
            held = self._from_plugin
            if held is None or (held.expires and held.expires - _EARLY <= self._now()):
                self._from_plugin = held = await _run(plugin, self._config)
            return held


@dataclass(frozen=True, slots=True)
class _Issued:
    token: str = field(default="", repr=False)
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    expires: datetime | None = None


def _authorization(user: User, token: str) -> str:
    if token:
        return f"Bearer {token}"
    if user.username:
        return "Basic " + base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
    return ""


# --- exec plugins -------------------------------------------------------------------------------------------


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    kind: Literal["ExecCredential"]
    api_version: str
    status: _Status


async def _run(plugin: ExecPlugin, config: Config) -> _Issued:
    talks = _may_talk(plugin)
    question = {"KUBERNETES_EXEC_INFO": _question(plugin, config, talks).decode()}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env={**os.environ, **dict(plugin.env), **question},
            stdin=None if talks else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
    except OSError as refused:
        hint = f". Hint: {plugin.install_hint}" if plugin.install_hint else ""
        raise NoCredentials(f"cannot run {plugin}: {refused.strerror}{hint}") from refused
    return _understood(plugin, await _output(plugin, process))


async def _output(plugin: ExecPlugin, process: asyncio.subprocess.Process) -> bytes:
    try:
        async with asyncio.timeout(_PLUGIN_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError as late:
        raise NoCredentials(f"{plugin} did not finish in {_PLUGIN_SECONDS:.0f} s") from late
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise NoCredentials(f"{plugin} failed with exit code {process.returncode}")
    return output


def _may_talk(plugin: ExecPlugin) -> bool:
    """Whether the plugin may ask the person at the terminal."""
    present = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
    if plugin.interactive == "Always" and not present:
        raise NoCredentials(f"{plugin} needs a terminal to ask questions, and there is none")
    return present and plugin.interactive != "Never"


def _question(plugin: ExecPlugin, config: Config, interactive: bool) -> bytes:
    spec: Object = {"interactive": interactive}
    if plugin.provide_cluster:
        spec["cluster"] = _cluster_info(config)
    return encode({"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec})


def _cluster_info(config: Config) -> Object:
    info: Object = {"server": config.server}
    if config.authority:
        info["certificate-authority-data"] = base64.b64encode(config.authority).decode()
    if config.tls_name:
        info["tls-server-name"] = config.tls_name
    if config.insecure:
        info["insecure-skip-tls-verify"] = True
    return info


def _understood(plugin: ExecPlugin, output: bytes) -> _Issued:
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential)
    except (msgspec.DecodeError, UnicodeDecodeError) as broken:
        # The output may hold a token: name the fault, never quote the text.
        raise NoCredentials(f"{plugin} did not print an ExecCredential: {broken}") from broken
    if answer.api_version != plugin.api_version:
        raise NoCredentials(f"{plugin} answered in {answer.api_version}, not {plugin.api_version}")
    status = answer.status
    certificate, key = status.client_certificate_data.encode(), status.client_key_data.encode()
    if not status.token and not (certificate and key):
        raise NoCredentials(f"{plugin} gave neither a token nor a certificate with its key")
    return _Issued(status.token, certificate, key, _with_zone(status.expiration_timestamp))


def _with_zone(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=moment.tzinfo or UTC) if moment else None
