"""Probes and lifecycle hooks: how a container is asked whether it lives, and what runs around its life."""

from __future__ import annotations

import re
from typing import Final

from trainshed.kinds import checks
from trainshed.kinds.checks import Errors
from trainshed.kinds.reading import child, entries, fill, mapping, number, sequence
from trainshed.kube.faults import forbidden, invalid, required, unsupported
from trainshed.kube.objects import JSON, Object, dig, text

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")
_PROBE_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_HOOK_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "sleep")
_NUMBERS: Final = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip
_HEADER: Final = re.compile("[-A-Za-z0-9]+")


def defaults(container: Object) -> None:
    for name in PROBES:
        if isinstance(container.get(name), dict):
            _default_probe(container[name])
    for name in _HOOKS:
        _default_handler(mapping(container, "lifecycle", name))


def _default_probe(probe: Object) -> None:
    for name, value in (
        ("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3),
    ):  # fmt: skip
        probe[name] = probe.get(name) or value
    _default_handler(probe)


def _default_handler(handler: Object) -> None:
    if isinstance(handler.get("httpGet"), dict):
        fill(handler["httpGet"], path="/", scheme="HTTP")
    if isinstance(handler.get("grpc"), dict) and handler["grpc"].get("service") is None:
        child(handler, "grpc")["service"] = ""


def errors(field: str, container: JSON, grace: int | None) -> Errors:
    """All probes and hooks of a container that may have them."""
    found: Errors = []
    for name in _HOOKS:
        hook = dig(container, "lifecycle", name)
        if isinstance(hook, dict):
            found += _handler(f"{field}.lifecycle.{name}", hook, _HOOK_HANDLERS, grace)
    for name in PROBES:
        probe = dig(container, name)
        if isinstance(probe, dict):
            found += _probe(f"{field}.{name}", probe, grace) + _special(f"{field}.{name}", name, probe)
    return found


def forbidden_errors(field: str, container: JSON) -> Errors:
    """The same fields, on an init container that is meant to end."""
    why = "may not be set for init containers without restartPolicy=Always"
    return [forbidden(f"{field}.{name}", why) for name in ("lifecycle", *PROBES) if dig(container, name)]


def _probe(field: str, probe: Object, grace: int | None) -> Errors:
    found = _handler(field, probe, _PROBE_HANDLERS, grace)
    for name in _NUMBERS:
        found += checks.not_negative(f"{field}.{name}", probe.get(name))
    seconds = number(probe, "terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        found.append(invalid(f"{field}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return found


def _special(field: str, name: str, probe: Object) -> Errors:
    if name == "readinessProbe":
        seconds = number(probe, "terminationGracePeriodSeconds")
        at, why = f"{field}.terminationGracePeriodSeconds", "must not be set for readinessProbes"
        return [] if seconds is None else [invalid(at, seconds, why)]
    successes = number(probe, "successThreshold")
    return [] if successes in (None, 1) else [invalid(f"{field}.successThreshold", successes, "must be 1")]


def _handler(field: str, handler: Object, allowed: tuple[str, ...], grace: int | None) -> Errors:
    chosen = [name for name in allowed if isinstance(handler.get(name), dict)]
    if not chosen:
        return [required(field, "must specify a handler type")]
    first, *others = chosen
    found = _action(f"{field}.{first}", first, handler[first], grace)
    return found + [
        forbidden(f"{field}.{name}", "may not specify more than 1 handler type") for name in others
    ]


def _action(field: str, kind: str, action: Object, grace: int | None) -> Errors:
    if kind == "exec":
        return [] if sequence(action, "command") else [required(f"{field}.command")]
    if kind == "sleep":
        return _sleep(field, number(action, "seconds") or 0, grace)
    found = _http(field, action) if kind == "httpGet" else []
    return found + checks.port_or_name(f"{field}.port", action.get("port", 0))


def _http(field: str, action: Object) -> Errors:
    found = [] if text(action, "path") else [required(f"{field}.path")]
    if text(action, "scheme") not in ("HTTP", "HTTPS"):
        found.append(unsupported(f"{field}.scheme", text(action, "scheme"), ("HTTP", "HTTPS")))
    for header in entries(action, "httpHeaders"):
        if not _HEADER.fullmatch(text(header, "name")):
            why = (
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', "
                "regex used for validation is '[-A-Za-z0-9]+')"
            )
            found.append(invalid(f"{field}.httpHeaders", text(header, "name"), why))
    return found


def _sleep(field: str, seconds: int, grace: int | None) -> Errors:
    if grace is None or 0 <= seconds <= grace:
        return []
    why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
    return [invalid(field, seconds, why)]
