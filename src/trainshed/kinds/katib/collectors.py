"""How an Experiment collects metrics: what each kind of collector needs to know of its source."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.kinds.reading import mapping, texts
from trainshed.kube import patterns
from trainshed.kube.faults import FieldError, invalid, required
from trainshed.kube.numbers import whole
from trainshed.kube.objects import JSON, Object, dig, text

CONFIGURED = ("StdOut", "File", "TensorFlowEvent")
"""The collectors of Katib's default configuration: PrometheusMetric is known but has no image there."""
_SOURCE = "spec.metricsCollectorSpec.source"
_COLLECTOR = "spec.metricsCollectorSpec.collector"
_TWO_GROUPS = r".*\(.*\).*\(.*\).*"


def errors(collector: Object) -> Iterator[FieldError]:
    kind, source = text(collector, "collector", "kind"), mapping(collector, "source")
    match kind:
        case "StdOut" | "Push":
            return
        case "File":
            yield from _file_errors(source)
        case "TensorFlowEvent":
            yield from _events_errors(source)
        case "PrometheusMetric":
            yield from _prometheus_errors(kind, source)
        case "Custom":
            yield from _custom_errors(collector, source)
        case _:
            yield invalid(f"{_COLLECTOR}.kind", kind, f"invalid metrics collector kind: {kind}")
    yield from _filter_errors(source)


def _file_errors(source: Object) -> Iterator[FieldError]:
    path = mapping(source, "fileSystemPath")
    if text(path, "kind") != "File" or not _is_absolute(path):
        yield required(f"{_SOURCE}.fileSystemPath.path", "file path where metrics file exists is required")
    format = text(path, "format")
    if format not in ("TEXT", "JSON"):
        why = "format of metrics file is required for metrics collector"
        yield required(f"{_SOURCE}.fileSystemPath.format", why)
    if format == "JSON" and source.get("filter") is not None:
        yield invalid(f"{_SOURCE}.filter", "", "filter must be nil when format of metrics file is json")


def _events_errors(source: Object) -> Iterator[FieldError]:
    path = mapping(source, "fileSystemPath")
    if text(path, "kind") != "Directory" or not _is_absolute(path):
        needed = "directory path where tensorflow event files exist is required"
        yield required(_SOURCE, f"{needed} by .spec.metricsCollectorSpec.source.fileSystemPath.path")
    if text(path, "format"):
        yield invalid(f"{_SOURCE}.fileSystemPath.format", text(path, "format"), "must be empty")


def _prometheus_errors(kind: str, source: Object) -> Iterator[FieldError]:
    missing = f"failed to find metrics collector config for kind: {kind} in ConfigMap: katib-config"
    yield invalid(f"{_COLLECTOR}.kind", kind, f"GetMetricsCollectorConfigData failed: {missing}")
    port, path = dig(source, "httpGet", "port"), text(source, "httpGet", "path")
    if not _is_port(port):
        why = f"must be a positive integer value for metrics collector kind: {kind}"
        yield invalid(f"{_SOURCE}.httpGet.port", str(port), why)
    if not path.startswith("/"):
        why = f"path is invalid for metrics collector kind: {kind}"
        yield invalid(f"{_SOURCE}.httpGet.path", path, why)


def _custom_errors(collector: Object, source: Object) -> Iterator[FieldError]:
    if not isinstance(dig(collector, "collector", "customCollector"), dict):
        yield required(f"{_COLLECTOR}.customCollector", "metrics collector kind: Custom is required")
    path = source.get("fileSystemPath")
    if isinstance(path, dict) and (not _is_absolute(path) or text(path, "kind") not in ("File", "Directory")):
        yield invalid(f"{_SOURCE}.fileSystemPath", "", ".spec.metricsCollectorSpec.source is invalid")


def _filter_errors(source: Object) -> Iterator[FieldError]:
    """Each expression has two groups: the metric's name, then its value."""
    field = f"{_SOURCE}.filter.metricsFormat"
    for format in texts(source, "filter", "metricsFormat"):
        try:
            patterns.compiled(format)
        except ValueError as wrong:
            yield invalid(field, format, f"invalid filter: {wrong}")
            continue
        if not patterns.matches(_TWO_GROUPS, format):
            yield invalid(field, format, "two top subexpressions are required")


def _is_absolute(path: Object) -> bool:
    return text(path, "path").startswith("/")


def _is_port(given: JSON) -> bool:
    if isinstance(given, bool) or not isinstance(given, int | str):
        return False
    return bool(whole(str(given)))
