"""Reading parts of objects that may hold anything: the wrong type reads as absent, nothing here raises."""

from __future__ import annotations

from trainshed.kube.objects import JSON, Object, dig


def mapping(value: JSON, *path: str) -> Object:
    """The object at a path, or an empty one."""
    found = dig(value, *path)
    return found if isinstance(found, dict) else {}


def sequence(value: JSON, *path: str) -> list[JSON]:
    """The list at a path, or an empty one."""
    found = dig(value, *path)
    return found if isinstance(found, list) else []


def entries(value: JSON, *path: str) -> list[Object]:
    """The objects of a list at a path; anything else in it reads as an empty object, so indexes hold."""
    return [item if isinstance(item, dict) else {} for item in sequence(value, *path)]


def texts(value: JSON, *path: str) -> list[str]:
    """The strings of a list at a path; anything else in the list reads as empty, so indexes hold."""
    return [item if isinstance(item, str) else "" for item in sequence(value, *path)]


def number(value: JSON, *path: str) -> int | None:
    """The integer at a path, or None."""
    found = dig(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def is_true(value: JSON, *path: str) -> bool:
    return dig(value, *path) is True


def child(target: Object, name: str) -> Object:
    """A member object for filling in; made when absent, a throw-away one when something else is there."""
    found = target.setdefault(name, {})
    return found if isinstance(found, dict) else {}


def fill(target: Object, **defaults: JSON) -> None:
    """Set members that are absent, null or empty text."""
    for name, value in defaults.items():
        if target.get(name) in (None, ""):
            target[name] = value
