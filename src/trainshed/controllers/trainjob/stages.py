"""The merge of a runtime and a TrainJob, as a list of small steps; each says where its changes come from.

The order is upstream's: the runtime, patches, resources and counts, plugins, network, then the values of the
TrainJob itself, so that what a user writes wins over what a plugin thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from trainshed.controllers.trainjob import counts, plugins, retries, template_patches, values
from trainshed.controllers.trainjob.draft import Draft, begin
from trainshed.kinds.reading import entries, mapping
from trainshed.kube.objects import Object, text

Step = Callable[[Draft], None]


class Stage(NamedTuple):
    """A step of the merge and the name of whoever asked for it."""

    source: str
    step: Step


def merged(job: Object, runtime: Object) -> Draft:
    """The finished draft. Raises `refusals.Refusal` for what cannot be run."""
    draft = begin(job, runtime)
    for stage in stages(job, runtime):
        stage.step(draft)
    return draft


def stages(job: Object, runtime: Object) -> Iterator[Stage]:
    yield from _changes(job)
    yield Stage("trainer.resourcesPerNode", counts.add_resources)
    yield Stage(runtime_source(runtime), counts.count_as_runtime)
    yield Stage("trainer.numNodes", counts.count_as_asked)
    for plugin in plugins.PLUGINS:
        if plugin.env_first:
            yield Stage("trainer.env", _only_if(plugin.applies, values.add_environment))
        yield Stage(f"plugin {plugin.name}", _only_if(plugin.applies, plugin.enforce))
    yield Stage("one job per step", values.replicate_once)
    yield Stage("initializer.dataset", values.initialize_dataset)
    yield Stage("initializer.model", values.initialize_model)
    yield Stage("trainer.image", values.set_image)
    yield Stage("trainer.command", values.set_command)
    yield Stage("trainer.args", values.set_args)
    yield Stage("trainer.env", values.add_environment)
    yield Stage(retries.SOURCE, retries.limit)
    yield Stage("spec.suspend", values.suspend)


def runtime_source(runtime: Object) -> str:
    return f"runtime {text(runtime, 'metadata', 'name')}"


def _changes(job: Object) -> Iterator[Stage]:
    for patch in entries(job, "spec", "runtimePatches"):
        yield Stage(f"patch {text(patch, 'manager')}", _with(template_patches.apply_patch, patch))
    for index, override in enumerate(entries(job, "spec", "podTemplateOverrides")):
        yield Stage(f"podTemplateOverrides[{index}]", _with(template_patches.apply_override, override))
    yield Stage("spec.labels", _add_labels)
    yield Stage("spec.annotations", _add_annotations)


def _add_labels(draft: Draft) -> None:
    draft.labels |= mapping(draft.job, "spec", "labels")


def _add_annotations(draft: Draft) -> None:
    draft.annotations |= mapping(draft.job, "spec", "annotations")


def _with(step: Callable[[Draft, Object], None], item: Object) -> Step:
    return lambda draft: step(draft, item)


def _only_if(applies: Callable[[Draft], bool], step: Step) -> Step:
    return lambda draft: step(draft) if applies(draft) else None
