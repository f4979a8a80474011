"""The search space of an Experiment: what each type of parameter must and must not say."""

from __future__ import annotations

from collections.abc import Iterator

from trainshed.kinds.reading import entries, mapping, sequence, texts
from trainshed.kube.faults import FieldError, invalid, required
from trainshed.kube.objects import Object, dig, text

TYPES = ("int", "double", "categorical", "discrete", "unknown")
DISTRIBUTIONS = ("uniform", "logUniform", "normal", "logNormal", "unknown")


def errors(experiment: Object) -> Iterator[FieldError]:
    given, is_nas = (
        entries(experiment, "spec", "parameters"),
        isinstance(dig(experiment, "spec", "nasConfig"), dict),
    )
    if not given and not is_nas:
        yield required("spec", "spec.parameters or spec.nasConfig must be specified")
    if given and is_nas:
        why = "only one of spec.parameters and spec.nasConfig can be specified"
        yield invalid("spec", mapping(experiment, "spec"), why)
    for index, parameter in enumerate(given):
        yield from _parameter_errors(f"spec.parameters[{index}]", parameter)


def _parameter_errors(field: str, parameter: Object) -> Iterator[FieldError]:
    type, space = text(parameter, "parameterType"), mapping(parameter, "feasibleSpace")
    if type not in TYPES:
        yield invalid(f"{field}.parameterType", type, f"parameterType: {type} is not supported")
    distribution = text(space, "distribution")
    if distribution and distribution not in DISTRIBUTIONS:
        why = f"distribution: {distribution} is not supported"
        yield invalid(f"{field}.feasibleSpace.distribution", distribution, why)
    if not any(space.values()):
        yield required(f"{field}.feasibleSpace", "feasibleSpace must be specified")
    else:
        yield from _space_errors(f"{field}.feasibleSpace", type, space)


def _space_errors(field: str, type: str, space: Object) -> Iterator[FieldError]:
    if type in ("double", "int"):
        if sequence(space, "list"):
            why = f"feasibleSpace.list is not supported for parameterType: {type}"
            yield invalid(f"{field}.list", sequence(space, "list"), why)
        if not text(space, "max") or not text(space, "min"):
            why = f"feasibleSpace.max or feasibleSpace.min must be specified for parameterType: {type}"
            yield required(f"{field}.max", why)
    elif type in ("categorical", "discrete") and any(text(space, name) for name in ("max", "min", "step")):
        why = f"feasibleSpace .max, .min and .step is not supported for parameterType: {type}"
        yield invalid(field, space, why)


def printed(experiment: Object) -> str:
    """The parameters as upstream prints them inside other messages: Go's way with structures."""
    return f"[{' '.join(_printed(parameter) for parameter in entries(experiment, 'spec', 'parameters'))}]"


def _printed(parameter: Object) -> str:
    space = mapping(parameter, "feasibleSpace")
    ends = f"{text(space, 'max')} {text(space, 'min')} [{' '.join(texts(space, 'list'))}]"
    space_text = f"{{{ends} {text(space, 'step')} {text(space, 'distribution')}}}"
    return f"{{{text(parameter, 'name')} {text(parameter, 'parameterType')} {space_text}}}"
