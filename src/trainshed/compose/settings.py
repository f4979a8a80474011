"""The user's settings: a TOML file, options of `up` over it, and the options of former times remembered.

relax = true
runner = "process"
[images]
"pytorch/*" = "/opt/venvs/torch"
"docker.io/me/mnist:*" = { environment = "/opt/venvs/torch", contents = { "/opt/mnist" = "/home/me/mnist" } }
[[nodes]]
name = "gpu-1"
gpus = 8
labels = { zone = "a" }
taints = ["dedicated=training:NoSchedule"]
[logs]
keep = "7d"
[backend]
port = 8000
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import get_args

import msgspec

from trainshed.apiserver.access import privatefiles
from trainshed.compose import backendsettings, trouble
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.parts import BACKEND, OPERATOR, Part
from trainshed.compose.trouble import HERE, PROGRAM, WRONG_USAGE, Trouble
from trainshed.kube import names, quantities
from trainshed.kube.objects import JSON, Object
from trainshed.runner.settings import Effect, ImageRule, RunnerName, Settings, SimulatedNode, Taint

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"([0-9]{1,6})([smhd])")
_TAINT = re.compile(r"([^=:]+)(?:=([^:]*))?:([A-Za-z]+)")
_ANOTHER = (
    f"name another with {PROGRAM} up --config <file>{HERE}, or none with {PROGRAM} up --no-config{HERE}"
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What was said on the command line; None where nothing was."""

    config: str | None = None
    """Empty for no file but the data folder's own."""
    relax: bool | None = None
    runner: str | None = None
    backend: bool | None = None

    def over(self, former: Choices) -> Choices:
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return replace(former, **said)


def chosen(folder: DataFolder, choices: Choices) -> tuple[Choices, Settings]:
    """The settings that count now, and the choices to remember. Raises `Trouble` naming file and key."""
    kept = choices.over(_remembered(folder))
    path = Path(kept.config) if kept.config else folder.config
    found = read(path, bool(kept.config)) if kept.config or path.exists() else Settings()
    if kept.relax is not None:
        found = replace(found, relax=kept.relax)
    if kept.runner is not None:
        found = replace(found, runner=_runner(kept.runner, "--runner"))
    return kept, found


def wants_backend(folder: DataFolder, choices: Choices) -> bool:
    return choices.over(_remembered(folder)).backend is not False


def config_of(folder: DataFolder) -> str:
    """The file the settings come from; empty where there is none."""
    named = _remembered(folder).config
    return named or (str(folder.config) if folder.config.exists() else "")


def remember(folder: DataFolder, kept: Choices) -> None:
    if kept != _remembered(folder):
        privatefiles.write(folder.choices, msgspec.json.encode(kept) + b"\n")


def backend_table(folder: DataFolder, choices: Choices | None = None) -> Object:
    """The table [backend] of the file that counts. Raises `Trouble`."""
    named = (choices or Choices()).over(_remembered(folder)).config
    path = Path(named) if named else folder.config
    found: Object = _table(path, bool(named)).get("backend", {}) if named or path.exists() else {}
    return found


def digest(settings: Settings, part: Part, backend: Object | None = None) -> str:
    """Tells whether a part that runs was started with these settings, as far as they concern it."""
    if part is BACKEND:
        concern: object = sorted((backend or {}).items())
    elif part is OPERATOR:
        concern = settings.relax
    else:
        concern = asdict(replace(settings, relax=False))
    return hashlib.sha256(msgspec.json.encode(concern)).hexdigest()[:12]


def read(path: Path, is_named: bool = False) -> Settings:
    """The settings of a file, one of the data folder or one that was named. Raises `Trouble`: one line, with
    the file and the key.
    """
    body = _table(path, is_named)
    try:
        return parsed(body)
    except ValueError as error:
        raise Trouble(f"{path}: {error}", code=WRONG_USAGE) from error


def _table(path: Path, is_named: bool = False) -> Object:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise trouble.unreadable(error, path, _ANOTHER if is_named else "") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Trouble(f"{path} is not TOML: {error}", "see https://toml.io", WRONG_USAGE) from error


def _remembered(folder: DataFolder) -> Choices:
    try:
        return msgspec.json.decode(folder.choices.read_bytes(), type=Choices)
    except (OSError, ValueError):
        return Choices()


# --- pure: a table as tomllib gives it -> settings; ValueError names the key ---------------------------


def parsed(body: Object) -> Settings:
    _only(body, "", ("relax", "runner", "images", "nodes", "logs", "backend"))
    backendsettings.parsed(body.get("backend", {}))
    logs = _typed(body, "logs", dict, "a table")
    _only(logs, "logs.", ("keep",))
    nodes = [_node(f"nodes[{at}].", node) for at, node in enumerate(_typed(body, "nodes", list, "tables"))]
    _distinct(nodes)
    images = _typed(body, "images", dict, "a table")
    return Settings(
        relax=_typed(body, "relax", bool, "true or false"),
        runner=_runner(body.get("runner", "auto"), "runner"),
        images=tuple(_image(pattern, path) for pattern, path in images.items()),
        nodes=tuple(nodes),
        keep_logs_seconds=_duration("logs.keep", logs.get("keep", "7d")),
    )


def _only(table: Object, where: str, known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise ValueError(f"{where}{key} is not a setting; there are {', '.join(known)}")


def _typed(table: Object, key: str, form: type, words: str, where: str = "") -> JSON:
    value = table.get(key, form())
    if not isinstance(value, form) or (form is int and isinstance(value, bool)):
        raise ValueError(f"{where}{key} must be {words}, not {value!r}")
    return value


def _runner(value: JSON, where: str) -> RunnerName:
    if value not in get_args(RunnerName):
        message = f"{where} must be {', '.join(get_args(RunnerName))}, not {value!r}"
        raise Trouble(message, code=WRONG_USAGE) if where.startswith("--") else ValueError(message)
    found: RunnerName = value
    return found


def _image(pattern: str, meaning: JSON) -> ImageRule:
    where = f'images."{pattern}"'
    if not isinstance(meaning, dict):
        return ImageRule(pattern, _path(where, meaning, "the path of an environment"))
    _only(meaning, f"{where}.", ("environment", "contents"))
    path = meaning.get("environment")
    inside = _typed(meaning, "contents", dict, "a table", f"{where}.")
    return ImageRule(
        pattern,
        "" if path is None else _path(f"{where}.environment", path, "the path of an environment"),
        tuple(_content(f'{where}.contents."{target}"', target, source) for target, source in inside.items()),
    )


def _content(where: str, target: str, source: JSON) -> tuple[str, str]:
    if not target.startswith("/") or ".." in target.split("/") or not target.strip("/"):
        raise ValueError(f"{where} must be for an absolute path below the root")
    return target.rstrip("/"), _path(where, source, "a file or folder of this machine")


def _path(where: str, value: JSON, words: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{where} must be {words}, not {value!r}")
    place = Path(value).expanduser()
    if not place.is_absolute():
        raise ValueError(f"{where} must be an absolute path, not {value!r}")
    return str(place)


def _node(where: str, node: JSON) -> SimulatedNode:
    if not isinstance(node, dict):
        raise ValueError(f"{where.rstrip('.')} must be a table, not {node!r}")
    _only(node, where, ("name", "cpu", "memory", "gpus", "labels", "taints"))
    name = _typed(node, "name", str, "a name", where)
    if why := names.dns_subdomain(name):
        raise ValueError(f"{where}name {name!r}: {why}")
    return SimulatedNode(
        name=name,
        cpu=_amount(f"{where}cpu", node.get("cpu", 1)),
        memory=_amount(f"{where}memory", node.get("memory", "1Gi")),
        gpus=_count(f"{where}gpus", _typed(node, "gpus", int, "a whole number", where)),
        labels=tuple(_labels(where, _typed(node, "labels", dict, "a table", where))),
        taints=tuple(
            _taint(f"{where}taints", taint) for taint in _typed(node, "taints", list, "texts", where)
        ),
    )


def _distinct(nodes: list[SimulatedNode]) -> None:
    seen: set[str] = set()
    for at, node in enumerate(nodes):
        if node.name in seen:
            raise ValueError(f"nodes[{at}].name {node.name!r} is used twice")
        seen.add(node.name)


def _amount(where: str, value: JSON) -> str:
    try:
        if isinstance(value, bool) or quantities.parse(value) <= 0:
            raise ValueError("it must be positive")
        return quantities.canonical(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where} must be a quantity such as 8 or 16Gi, not {value!r} ({error})") from error


def _count(where: str, value: int) -> int:
    if not 0 <= value <= 1024:
        raise ValueError(f"{where} must be from 0 to 1024, not {value}")
    return value


def _labels(where: str, labels: Object) -> Iterator[tuple[str, str]]:
    for key, value in labels.items():
        why = names.qualified_name(key)
        why = why or (names.label_value(value) if isinstance(value, str) else "its value must be a text")
        if why:
            raise ValueError(f"{where}labels.{key}: {why}")
        yield key, value


def _taint(where: str, taint: JSON) -> Taint:
    found = _TAINT.fullmatch(taint) if isinstance(taint, str) else None
    effect: Effect | None = next((one for one in get_args(Effect) if found and one == found[3]), None)
    if found is None or effect is None or names.qualified_name(found[1]):
        effects = ", ".join(get_args(Effect))
        raise ValueError(f"{where}: {taint!r} is not key=value:effect with one of {effects}")
    return Taint(found[1], found[2] or "", effect)


def _duration(where: str, value: JSON) -> float:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f'{where} must be a time such as "12h" or "7d", not {value!r}')
    return float(int(found[1]) * _UNITS[found[2]])
