"""The kinds served right now: built-in ones, and those that CustomResourceDefinitions bring and take away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainshed.kinds.kind import Kind


class Registry:
    def __init__(self, builtin: Sequence[Kind]) -> None:
        self._builtin = tuple(builtin)
        self._custom: dict[str, tuple[Kind, ...]] = {}
        self._rebuild()
        self.generation = 0
        """Grows with every change; caches of discovery and OpenAPI are keyed by it."""

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._by_path.get((group, version, plural))

    def stored(self, resource: str) -> Kind | None:
        """The kind whose spelling is the stored one (one that can translate, if that is not served)."""
        return self._by_storage.get(resource)

    def homes(self) -> tuple[Kind, ...]:
        """One kind for each resource in the store: what walks over everything stored goes by these."""
        return tuple(self._by_storage.values())

    def of_reference(self, api_version: str, kind: str) -> Kind | None:
        """The kind an owner reference names; another version of the group will do."""
        group = api_version.partition("/")[0] if "/" in api_version else ""
        return self._by_kind.get((api_version, kind)) or self._by_group_kind.get((group, kind))

    def has_group_version(self, group: str, version: str) -> bool:
        return (group, version) in self._group_versions

    def kinds(self) -> tuple[Kind, ...]:
        return self._kinds

    def custom_names(self) -> Iterable[str]:
        return self._custom.keys()

    def install(self, name: str, kinds: Sequence[Kind]) -> None:
        """Serve what the CustomResourceDefinition of this name describes now."""
        self._custom[name] = tuple(kinds)
        self._changed()

    def remove(self, name: str) -> tuple[Kind, ...]:
        gone = self._custom.pop(name, ())
        if gone:
            self._changed()
        return gone

    def _changed(self) -> None:
        self._rebuild()
        self.generation += 1

    def _rebuild(self) -> None:
        self._kinds = (
            *self._builtin,
            *(kind for name in sorted(self._custom) for kind in self._custom[name]),
        )
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in self._kinds}
        self._by_kind = {(kind.api_version, kind.kind): kind for kind in reversed(self._kinds)}
        self._by_group_kind = {(kind.group, kind.kind): kind for kind in reversed(self._kinds)}
        spellings = sorted(self._kinds, key=lambda kind: kind.dialect is None)
        self._by_storage = {kind.stored_as: kind for kind in spellings}
        self._group_versions = {(kind.group, kind.version) for kind in self._kinds}
