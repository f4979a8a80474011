"""The template of an Experiment's trials: a worker object with placeholders and what fills them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from trainshed.kinds.katib import parameters
from trainshed.kinds.reading import entries, mapping
from trainshed.kube import documents
from trainshed.kube.faults import FieldError, invalid, required
from trainshed.kube.objects import JSON, Object, dig, text

_TEMPLATE = "spec.trialTemplate"
_PARAMETERS = f"{_TEMPLATE}.trialParameters"
_PLACEHOLDER = re.compile(r"\$\{trialParameters\.[^{}\n]+\}")
_META = re.compile(r"\$\{trialSpec\.([^{}\n]+)\}")
_META_PART = re.compile(r"(.+)\[(.+)\]")
_LONGEST = 1000
"""Characters of a reference that count; no key of a label or annotation comes near that."""
_META_KEYS = ("Name", "Namespace", "Kind", "APIVersion", "Annotations", "Labels")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an Experiment is checked against."""

    find_config: Callable[[str, str], Object | None] = lambda namespace, name: None
    """Looks up a ConfigMap."""
    job_fault: Callable[[Object], str] = lambda job: ""
    """What keeps an object from being a batch/v1 Job; empty when nothing does."""


def errors(experiment: Object, around: Surroundings) -> Iterator[FieldError]:
    template = dig(experiment, "spec", "trialTemplate")
    if not isinstance(template, dict):
        yield required(_TEMPLATE, "must be specified")
        return
    if not text(template, "primaryContainerName"):
        yield required(f"{_TEMPLATE}.primaryContainerName", "must be specified")
    if not text(template, "successCondition") or not text(template, "failureCondition"):
        yield required(_TEMPLATE, "successCondition and failureCondition must be specified")
    incomplete = _incomplete(template)
    if incomplete:
        yield incomplete
        return
    try:
        written = _written(template, around)
    except LookupError as missing:
        yield invalid(_TEMPLATE, "", f"unable to parse {_TEMPLATE}: {missing.args[0]}")
        return
    yield from _Substitution(experiment, written).errors(around)


def _incomplete(template: Object) -> FieldError | None:
    if not entries(template, "trialParameters"):
        return required(_PARAMETERS, "must be specified")
    spec, config = dig(template, "trialSpec"), dig(template, "configMap")
    either = f"{_TEMPLATE}.trialSpec or {_TEMPLATE}.configMap"
    if spec is None and config is None:
        return required(f"{_TEMPLATE}.TrialSource", f"{either} must be specified")
    if spec is not None and config is not None:
        return required(_TEMPLATE, f"only one of {either} can be specified")
    names = ("configMapName", "configMapNamespace", "templatePath")
    if config is not None and not all(text(config, name) for name in names):
        why = "configMapName, configMapNamespace and templatePath must be specified"
        return required(f"{_TEMPLATE}.configMap", why)
    return None


def _written(template: Object, around: Surroundings) -> str:
    """The worker object as text; LookupError when a ConfigMap does not have it."""
    spec, config = template.get("trialSpec"), mapping(template, "configMap")
    if spec is not None:
        return json.dumps(spec, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    name, path = text(config, "configMapName"), text(config, "templatePath")
    found = around.find_config(text(config, "configMapNamespace"), name)
    if found is None:
        raise LookupError(f'configMap not found: ConfigMap "{name}" not found')
    written = mapping(found, "data").get(path)
    if not isinstance(written, str):
        held = " ".join(sorted(mapping(found, "data")))
        raise LookupError(
            f"unable to find trial template in ConfigMap: TemplatePath: {path}, ConfigMap: [{held}]"
        )
    return written


class _Substitution:
    """Replaces placeholders one parameter after the other, collecting what does not fit."""

    def __init__(self, experiment: Object, written: str) -> None:
        self._experiment, self._text = experiment, written
        self._given = entries(experiment, "spec", "trialTemplate", "trialParameters")
        self._known = {text(item, "name") for item in entries(experiment, "spec", "parameters")}
        self._names: set[str] = set()
        self._references: set[str] = set()

    def errors(self, around: Surroundings) -> Iterator[FieldError]:
        for index, parameter in enumerate(self._given):
            field, name = f"{_PARAMETERS}[{index}]", text(parameter, "name")
            refused = self._refusal(field, parameter)
            if refused:
                yield refused
                continue
            yield from self._reference_errors(field, text(parameter, "reference"))
            if not self._replace(name):
                where = f"in spec.trialParameters not found in {_TEMPLATE}: {self._text}"
                yield invalid(f"{field}.name", name, f"parameter name: {name} {where}")
                return
        left = _PLACEHOLDER.findall(self._text)
        if left:
            where = f"in {_TEMPLATE} not found in spec.trialParameters: {self._listed()}"
            yield invalid(_TEMPLATE, "", f"parameters: [{' '.join(left)}] {where}")
        yield from _worker_errors(self._text, around)

    def _refusal(self, field: str, parameter: Object) -> FieldError | None:
        """Why a parameter cannot be looked at any further."""
        name, reference = text(parameter, "name"), text(parameter, "reference")
        if not name or not reference or "{" in name or "}" in name:
            why = "name and reference must be specified and name must not contain '{' or '}'"
            return invalid(field, "", why)
        if name in self._names:
            return invalid(f"{field}.name", name, self._repeated("name", name))
        if reference in self._references:
            return invalid(f"{field}.reference", reference, self._repeated("reference", reference))
        self._names.add(name)
        self._references.add(reference)
        return None

    def _reference_errors(self, field: str, reference: str) -> Iterator[FieldError]:
        if self._known and reference not in self._known and not _is_meta(reference):
            space = f"spec.parameters: {parameters.printed(self._experiment)}"
            why = f"parameter reference {reference} does not exist in {space}"
            yield invalid(f"{field}.reference", reference, why)

    def _replace(self, name: str) -> bool:
        placeholder = f"${{trialParameters.{name}}}"
        found = placeholder in self._text
        self._text = self._text.replace(placeholder, "test-value")
        return found

    def _repeated(self, what: str, value: str) -> str:
        return f"parameter {what} {value} can't be duplicated in {_PARAMETERS}: {self._listed()}"

    def _listed(self) -> str:
        fields = ("name", "description", "reference")
        return (
            f"[{' '.join('{' + ' '.join(text(item, key) for key in fields) + '}' for item in self._given)}]"
        )


def _is_meta(reference: str) -> bool:
    """`${trialSpec.Name}`, `${trialSpec.Labels[x]}`: facts of the trial itself."""
    found = _META.search(reference[:_LONGEST])
    key = found.group(1) if found else ""
    part = _META_PART.search(key)
    return key in _META_KEYS or (part is not None and part.group(1) in _META_KEYS)


def _worker_errors(written: str, around: Surroundings) -> Iterator[FieldError]:
    worker = _read(written)
    if worker is None:
        yield invalid(_TEMPLATE, "", f"unable to convert {_TEMPLATE}: {written} to unstructured")
        return
    if text(worker, "metadata", "name") or text(worker, "metadata", "namespace"):
        why = f"metadata.name and metadata.namespace in {_TEMPLATE} must be omitted"
        yield invalid(_TEMPLATE, "", why)
    if not text(worker, "apiVersion") or not text(worker, "kind"):
        yield required(_TEMPLATE, f"APIVersion and Kind in {_TEMPLATE} must be specified")
    elif (worker["apiVersion"], worker["kind"]) == ("batch/v1", "Job"):
        fault = around.job_fault(worker)
        if fault:
            yield invalid(_TEMPLATE, "", f"invalid {_TEMPLATE}: {fault}")


def _read(written: str) -> Object | None:
    data = written.encode(errors="replace")
    read = documents.read_json if written.lstrip().startswith("{") else documents.read_yaml
    try:
        found: JSON = read(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
