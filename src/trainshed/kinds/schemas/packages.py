"""The installed packages our schemas come from: where their models are, found without importing them."""

from __future__ import annotations

import ast
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Final

from trainshed.kinds.schemas import attribute_models, pydantic_models
from trainshed.kube.objects import Object


class MissingPackage(Exception):
    """A package that holds API models is not installed, or not in a form we can read."""


@dataclass(frozen=True, slots=True)
class Package:
    """One package of API models; `model` reads one class of it, `in` says whether it has one."""

    name: str
    version: str
    folder: Path
    _files: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __contains__(self, cls: str) -> bool:
        return cls.lower() in self._modules()

    def model(self, cls: str) -> Object:
        """A schema of the class; its references are names of classes of the same package."""
        with open(self._modules()[cls.lower()], encoding="utf-8") as file:
            source = file.read()
        if attribute_models.is_one(source):
            return attribute_models.read(_class(attribute_models.essence, source, cls), source)
        return pydantic_models.read(_class(pydantic_models.essence, source, cls))

    def _modules(self) -> dict[str, str]:
        """The file of each class: generators give every class one, named after it (v1_pod.py has V1Pod)."""
        if not self._files:
            names = [name for name in os.listdir(self.folder) if name.endswith(".py")]
            found = {name[:-3].replace("_", "").lower(): os.path.join(self.folder, name) for name in names}
            if len(found) <= 1:  # `__init__`
                raise MissingPackage(f"no models in {self.folder}")
            self._files.update(found)
        return self._files


def _class(essence: Callable[[str], str], source: str, name: str) -> ast.ClassDef:
    try:
        body = ast.parse(essence(source)).body
    except SyntaxError:  # something was cut in two: then all of it
        body = ast.parse(source).body
    return next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)


KUBERNETES: Final = ("kubernetes", "kubernetes/client/models")
TRAINER: Final = ("kubeflow-trainer-api", "kubeflow_trainer_api/models")
TRAINING: Final = ("kubeflow-training", "kubeflow/training/models")
KATIB: Final = ("kubeflow-katib-api", "kubeflow_katib_api/models")
ALL: Final = (KUBERNETES, TRAINER, TRAINING, KATIB)


def find(distribution: str, models: str) -> Package:
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError as error:
        raise MissingPackage(f"the package {distribution} is not installed") from error
    # An installed wheel says where its files are; an editable one does not, the import system does.
    for folder in (Path(str(found.locate_file(models))), *_importable(models)):
        if folder.is_dir():
            return Package(distribution, found.version, folder)
    raise MissingPackage(f"the package {distribution} has no folder {models}")


def _importable(models: str) -> list[Path]:
    top, _, rest = models.partition("/")
    spec = importlib.util.find_spec(top)
    return [Path(place) / rest for place in (spec.submodule_search_locations if spec else None) or ()]
