"""What a printer is, and the pieces most printers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from trainshed.kinds.kind import Cells, Column
from trainshed.kinds.reading import mapping
from trainshed.kube import ages
from trainshed.kube.objects import JSON, Object, dig, text

NONE = "<none>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class Printer:
    columns: tuple[Column, ...]
    cells: Cells


NAME = Column("Name", format="name", description="Name of the object, unique within its namespace and kind.")
AGE = Column("Age", description="Time since the object was created.")
CONTAINERS = Column("Containers", description="Names of the containers in the pod template.", priority=1)
IMAGES = Column("Images", description="Images of the containers in the pod template.", priority=1)
SELECTOR = Column("Selector", description="Labels that choose the pods.", priority=1)


def column(name: str, description: str, type: str = "string") -> Column:
    return Column(name, type=type, description=description)


def wide(name: str, description: str) -> Column:
    """A column that only `-o wide` shows."""
    return Column(name, description=description, priority=1)


# --- reading objects that may be odd ----------------------------------------------------------------------


def number(value: JSON, *path: str) -> int:
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def flag(value: JSON, *path: str) -> bool:
    return dig(value, *path) is True


def entries(value: JSON, *path: str) -> Iterator[Object]:
    """The objects in the list at a path."""
    found = dig(value, *path)
    return (item for item in found if isinstance(item, dict)) if isinstance(found, list) else iter(())


def texts(value: JSON, *path: str) -> list[str]:
    found = dig(value, *path)
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def size(value: JSON, *path: str) -> int:
    found = dig(value, *path)
    return len(found) if isinstance(found, dict | list) else 0


def name_of(obj: Object) -> str:
    return text(obj, "metadata", "name")


def age(obj: Object, now: datetime) -> str:
    return ages.age_of(dig(obj, "metadata", "creationTimestamp"), now)


def is_true(conditions: Iterable[Object], type: str) -> bool:
    """Whether the first condition of a type has status True."""
    found = next((condition for condition in conditions if condition.get("type") == type), None)
    return found is not None and found.get("status") == "True"


# --- shared cells -----------------------------------------------------------------------------------------


def containers(pod_spec: JSON) -> tuple[str, str]:
    """Names and images of a pod template's containers."""
    found = list(entries(pod_spec, "containers"))
    return ",".join(text(item, "name") for item in found), ",".join(text(item, "image") for item in found)


def labels(found: Mapping[str, JSON]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(found.items())) or NONE


def selector(found: JSON) -> str:
    """A label selector with matchLabels and matchExpressions on one line."""
    return bare_selector(found) or NONE


def bare_selector(found: JSON) -> str:
    terms = [(str(key), f"{key}={value}") for key, value in mapping(found, "matchLabels").items()]
    terms += [(text(item, "key"), _requirement(item)) for item in entries(found, "matchExpressions")]
    return ",".join(term for _, term in sorted(terms, key=lambda pair: pair[0]))


def _requirement(item: Object) -> str:
    key, values = text(item, "key"), ",".join(sorted(texts(item, "values")))
    forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "DoesNotExist": f"!{key}"}
    return forms.get(text(item, "operator"), key)


def some(found: list[str], count: int, most: int) -> str:
    """The first few of a longer list."""
    joined = ",".join(found[:most])
    return f"{joined} + {count - most} more..." if count > most else joined
