"""Manifests in files: one or many documents, of which lists are taken apart."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from trainshed.kube.objects import JSON, Object

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class CannotRead(Exception):
    """One line: which file, and why."""


def read(file: Path) -> list[Object]:
    """The objects in a file, or in all manifests of a folder; `-` is standard input."""
    if file.is_dir():
        found = sorted(path for path in file.iterdir() if path.suffix in (".yaml", ".yml", ".json"))
        return [document for path in found for document in read(path)]
    try:
        content = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        documents = list(yaml.load_all(content, Loader=_Loader))
    except OSError as error:
        raise CannotRead(f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CannotRead(f"{file} is not YAML: {' '.join(str(error).split())[:200]}") from error
    return [obj for document in documents for obj in _objects(document, file)]


def _objects(document: JSON, file: Path) -> Iterator[Object]:
    if document is None:
        return
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise CannotRead(f"{file} has a document without a kind: it is no Kubernetes object")
    if document["kind"] == "List":
        for item in document.get("items") or []:
            yield from _objects(item, file)
    else:
        yield document
