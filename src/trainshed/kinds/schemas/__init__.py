"""OpenAPI schemas of the kinds we serve, made on first use from API packages installed from PyPI.

Nothing of those packages is copied here or imported (importing them takes seconds): their source is read
with `ast`, completed with what they lack (`tables/`), and the result is kept on disk. `store.Schemas` is the
way in; the other modules are the steps of one pipeline:

    packages → pydantic_models | attribute_models → definitions (built-in kinds) → inlining → crds
"""

from trainshed.kinds.schemas.store import Crd, Definitions, Schemas

__all__ = ["Crd", "Definitions", "Schemas"]
