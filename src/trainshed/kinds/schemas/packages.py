"""The installed packages our schemas come from: where their models are, found without importing them."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
from collections.abc import Mapping
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
    """One package of API models; `model` reads one class of it."""

    name: str
    version: str
    folder: Path
    _files: dict[str, Path] = field(default_factory=dict, compare=False, repr=False)

    @property
    def classes(self) -> Mapping[str, Path]:
        """Every model class with the file it is in."""
        if not self._files:
            self._files.update(_class_files(self.folder))
        return self._files

    def model(self, name: str) -> Object:
        """A schema of the class; its references are names of classes of the same package."""
        source = self.classes[name].read_text(encoding="utf-8")
        if attribute_models.is_one(source):
            return attribute_models.read(_class(attribute_models.essence(source), name), source)
        return pydantic_models.read(_class(source, name))


def _class(source: str, name: str) -> ast.ClassDef:
    body = ast.parse(source).body
    return next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)


KUBERNETES: Final = ("kubernetes", "kubernetes/client/models")
TRAINER: Final = ("kubeflow-trainer-api", "kubeflow_trainer_api/models")
TRAINING: Final = ("kubeflow-training", "kubeflow/training/models")
KATIB: Final = ("kubeflow-katib-api", "kubeflow_katib_api/models")
ALL: Final = (KUBERNETES, TRAINER, TRAINING, KATIB)
_CLASS: Final = re.compile(rb"\nclass (\w+)")


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


def _class_files(folder: Path) -> dict[str, Path]:
    """Class names by their `class` lines: the packages' `__init__` come in too many shapes to rely on."""
    found: dict[str, Path] = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") and name != "__init__.py":
            path = folder / name
            found.update((cls.decode(), path) for cls in _CLASS.findall(b"\n" + path.read_bytes()))
    if not found:
        raise MissingPackage(f"no models in {folder}")
    return found
