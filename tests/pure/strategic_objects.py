"""A schema with one field for every strategy of merging."""

from __future__ import annotations

import yaml

from tests.pure.ownership_objects import fields, keyed
from trainshed.kube.objects import JSON, Object
from trainshed.kube.schema import compile

_ANY: Object = {"x-kubernetes-preserve-unknown-fields": True}
_ITEM = {"name": _ANY, "value": _ANY, "other": _ANY}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}
ITEM = compile(
    fields(
        **_ITEM,
        simple=fields(**_ITEM),
        merging=keyed("name", **_ITEM, inner=keyed("name", **_ITEM), plain=_NUMBERS),
        numbers={**_NUMBERS, "x-kubernetes-patch-strategy": "merge"},
        plain=_NUMBERS,
        keyless={**keyed("name", **_ITEM), "x-kubernetes-patch-merge-key": ""},
        replaced={**fields(**_ITEM), "x-kubernetes-patch-strategy": "replace"},
        union={
            **fields(**_ITEM, numbers={**_NUMBERS, "x-kubernetes-patch-strategy": "merge"}),
            "x-kubernetes-patch-strategy": "retainKeys",
        },
        unions=keyed("name", strategy="merge,retainKeys", **_ITEM),
    )
)


def read(text: str) -> JSON:
    return yaml.safe_load(text)
