"""Where each line of a merged object comes from: every stage is compared with the one before.

An item of a keyed list (a container, a variable) is the same item wherever it stands, so moving it is
nobody's doing. Tags are a tree of the shape of the object, with the name of a source at each leaf.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainshed.kube.objects import JSON, encode
from trainshed.kube.patches import same

Path = tuple[str | int, ...]
Tags = JSON
"""A source for a leaf or for all below, a dict or list of tags for what has parts."""

_KEYS = ("name", "mountPath", "containerPort", "key", "type")


def tagged(value: JSON, source: str) -> Tags:
    """Everything from one source."""
    if isinstance(value, dict) and value:
        return {key: tagged(item, source) for key, item in value.items()}
    if isinstance(value, list) and value:
        return [tagged(item, source) for item in value]
    return source


def retagged(before: JSON, tags: Tags, after: JSON, source: str) -> Tags:
    """The tags of a changed value: what is new or different is the source's, the rest keeps its tag."""
    if isinstance(before, dict) and isinstance(after, dict) and isinstance(tags, dict) and after:
        return {
            key: retagged(before[key], tags[key], item, source) if key in before else tagged(item, source)
            for key, item in after.items()
        }
    if isinstance(before, list) and isinstance(after, list) and isinstance(tags, list) and after:
        return _retagged_list(before, tags, after, source)
    return tags if same(before, after) else tagged(after, source)


def _retagged_list(before: list[JSON], tags: list[Tags], after: list[JSON], source: str) -> list[Tags]:
    known = {key: (item, tag) for key, item, tag in zip(_marks(before), before, tags, strict=True)}
    return [
        retagged(*known[key], item, source) if key in known else tagged(item, source)
        for key, item in zip(_marks(after), after, strict=True)
    ]


def _marks(items: list[JSON]) -> list[object]:
    """What tells the items of a list apart: a field that differs in all of them, else their place."""
    for key in _KEYS:
        values = [encode(item.get(key)) if isinstance(item, dict) and key in item else None for item in items]
        if None not in values and len(set(values)) == len(values):
            return [(key, value) for value in values]
    return [*range(len(items))]


def leaves(tags: Tags, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each leaf's path, with the index of an item where the path leads through a list, and its source."""
    if isinstance(tags, dict):
        for key, inner in tags.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(tags, list):
        for index, inner in enumerate(tags):
            yield from leaves(inner, (*path, index))
    else:
        yield path, str(tags)


def flat(tags: Tags) -> Mapping[Path, str]:
    return dict(leaves(tags))
