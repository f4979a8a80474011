"""The routes, one file for each group of them: thin, each says what it takes and answers and calls one thing.

A file here has a `router`; `every` lists them.
"""

from __future__ import annotations

from starlette.routing import BaseRoute


def every() -> list[BaseRoute]:
    """All routes, in the order of the OpenAPI document; of two that fit a path the first counts.

    One list: routers inside an application are asked one after the other, and each asks its routes twice.
    """
    from trainshed.backend.routes import (
        changes,
        contract,
        convert,
        detail,
        docs,
        health,
        history,
        listing,
        logs,
        metrics,
        presets,
        preview,
        runtimes,
        streams,
        tenants,
        tokens,
        whoami,
    )

    modules = (
        health, docs, whoami, contract, preview, convert, runtimes, presets, changes, listing, detail, logs,
        streams, history, tenants, tokens, metrics,
    )  # fmt: skip
    return [route for module in modules for route in module.router.routes]
