"""From a TrainJob and its runtime to what the control plane would make of them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trainshed.backend.models.previews import Finding, Line, Made, PreviewAnswer
from trainshed.controllers.trainjob import shapes
from trainshed.controllers.trainjob.lints import Lint
from trainshed.controllers.trainjob.preview import Preview, preview
from trainshed.jobs import tagged
from trainshed.kinds.kind import Kind
from trainshed.kinds.schemas import Schemas
from trainshed.kube.objects import Object, text

_CONTROLLER = "the TrainJob's controller"
OWN = "this service"


class Shapes:
    """The kinds of Kubeflow Trainer; loading them takes a second, once."""

    def __init__(self, cache: Path | None) -> None:
        self._cache = cache
        self._known: Mapping[str, Kind] | None = None
        self._loading = asyncio.Lock()

    async def known(self) -> Mapping[str, Kind]:
        async with self._loading:
            if self._known is None:
                self._known = await asyncio.to_thread(self._load)
            return self._known

    def _load(self) -> Mapping[str, Kind]:
        if self._cache is not None:
            return shapes.kinds(Schemas.load(self._cache))
        with tempfile.TemporaryDirectory(prefix="trainshed-") as folder:
            return shapes.kinds(Schemas.load(Path(folder)))


def shown(found: Preview, made: Sequence[Object] = ()) -> PreviewAnswer:
    """The answer; `made` is what this service would create itself."""
    objects = [Made(origin=OWN, object=obj) for obj in made]
    objects += [Made(origin=origin, object=obj) for obj, origin in found.objects]
    if found.jobset:
        objects.append(Made(origin=_CONTROLLER, object=found.jobset))
    return PreviewAnswer(
        runnable=all(lint.severity != "error" for lint in found.warnings),
        findings=[Finding.model_validate(lint._asdict()) for lint in found.warnings],
        objects=objects,
        provenance={_dotted(path): origin for path, origin in found.provenance.items()},
        lines=[
            Line(text=line, origin=origin) for line, origin in tagged.lines(found.jobset, found.provenance)
        ],
    )


def refused(flaws: Sequence[Lint]) -> Preview:
    """What is left to say of a manifest that is not even one."""
    return Preview({}, {}, warnings=tuple(flaws))


def merged(job: Object, runtime: Object, flaws: Sequence[Lint] = ()) -> Preview:
    found = preview(job, runtime)
    return replace(found, warnings=(*flaws, *found.warnings))


def told_of_runtime(runtime: Object, lints: Sequence[Lint]) -> list[Lint]:
    name = text(runtime, "metadata", "name")
    return [lint._replace(path=f"runtime {name}: {lint.path}") for lint in lints]


def _dotted(path: Sequence[str | int]) -> str:
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).lstrip(".")
