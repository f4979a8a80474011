"""The REST backend in the foreground, in front of any cluster a kubeconfig (or a pod) leads to."""

from __future__ import annotations

import dataclasses
import errno
import socket
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvloop

from trainshed.backend import serving
from trainshed.backend.serving import Certificate
from trainshed.backend.settings import Settings
from trainshed.client import kubeconfig
from trainshed.client.failures import Failure
from trainshed.compose import backendsettings, companion, restplaces, trouble
from trainshed.compose.trouble import WRONG_USAGE, Trouble
from trainshed.kube.objects import JSON


@dataclass(frozen=True, slots=True)
class Wish:
    """What `trainshed serve` was asked for."""

    kubeconfig: Path | None = None
    context: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Certificate | None = None
    config: Path | None = None
    data: Path | None = None


def run(wish: Wish, ready: Callable[[str, str], None]) -> None:
    """Serve until a signal ends it; `ready` gets our address and the cluster's. Raises `Trouble`."""
    settings = dataclasses.replace(_settings(wish.config), data=wish.data)
    try:
        config = kubeconfig.load(wish.kubeconfig, wish.context)
    except Failure as failure:
        hint = "name a cluster with --kubeconfig, or run it in a pod of one"
        raise Trouble(str(failure), hint) from failure
    listener = opened(wish.host, wish.port)
    try:
        address = restplaces.url(listener, secure=wish.certificate is not None)

        def begun() -> None:
            companion.settle()
            ready(address, config.server)

        uvloop.run(companion.until_told(serving.serve(settings, config, listener, begun, wish.certificate)))
    finally:
        listener.close()


def opened(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `Trouble`."""
    try:
        return restplaces.listening(host, port)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        hint = "use --port 0 for any free port" if taken else "choose another address with --bind and --port"
        raise Trouble(f"cannot listen on {host}:{port} ({error.strerror or error})", hint) from error


def _settings(config: Path | None) -> Settings:
    """The table [backend] of a settings file; whatever else is in it is not ours. Raises `Trouble`."""
    if config is None:
        return Settings()
    try:
        body: dict[str, JSON] = tomllib.loads(config.read_text(encoding="utf-8"))
        return backendsettings.parsed(body.get("backend", {}))
    except OSError as error:
        raise trouble.unreadable(error, config, "name another file with --config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Trouble(f"{config} is not TOML: {error}", "see https://toml.io", WRONG_USAGE) from error
    except ValueError as error:
        raise Trouble(f"{config}: {error}", code=WRONG_USAGE) from error
