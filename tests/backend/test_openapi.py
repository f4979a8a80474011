"""The OpenAPI document tells all there is: examples and problems on every route."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from trainshed.kube.objects import JSON, Object

_WITHOUT_TOKEN = ("/healthz", "/readyz")


@pytest.fixture
def document(rest: httpx.Client) -> Object:
    found: Object = rest.get("/openapi.json").raise_for_status().json()
    return found


def operations(document: Object) -> Iterator[tuple[str, Object]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def shows_an_example(document: Object, value: JSON) -> bool:
    """Whether there is one in a schema or in whatever it refers to."""
    if isinstance(value, list):
        return any(shows_an_example(document, item) for item in value)
    if not isinstance(value, dict):
        return False
    if "examples" in value or "example" in value:
        return True
    if reference := value.get("$ref"):
        name = reference.rpartition("/")[2]
        return shows_an_example(document, document["components"]["schemas"][name])
    return any(shows_an_example(document, item) for item in value.values())


def test_every_route_shows_what_it_takes_and_answers(document: Object) -> None:
    for name, operation in operations(document):
        assert operation.get("description"), name
        assert shows_an_example(document, operation["responses"]["200"]), f"the answer of {name}"
        if body := operation.get("requestBody"):
            assert shows_an_example(document, body), f"the body of {name}"


def test_every_route_says_which_problems_it_has(document: Object) -> None:
    for name, operation in operations(document):
        if name.partition(" ")[2] in _WITHOUT_TOKEN:
            continue
        for status in ("401", "403", "422", "429", "500", "503"):
            content = operation["responses"][status]["content"]["application/json"]
            assert content["schema"] == {"$ref": "#/components/schemas/ProblemBody"}, f"{status} of {name}"
