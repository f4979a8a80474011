"""The OpenAPI document: complete, with examples, and kept by every answer, whatever was asked."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.backend.service import Backend
from trainshed.backend import docpage
from trainshed.backend.routes.summaries import SUMMARIES
from trainshed.kube.objects import JSON, Object, dig

ANSWER_SECONDS = 60
EXAMPLES = 12
STREAMS = r"/stream$"
"""They go on: what they say is tested elsewhere."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SLOW = list(HealthCheck)
METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(scope="session")
def document(backend: Backend) -> Object:
    with backend.rest() as rest:
        found: Object = rest.get("/openapi.json").json()
        return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("methods", [("GET",), ("POST",), ("PATCH", "PUT", "DELETE")], ids="-".join)
def test_answers_keep_what_the_document_says(
    methods: tuple[str, ...], backend: Backend, document: Object
) -> None:
    schema = schemathesis.openapi.from_dict(document).exclude(path_regex=STREAMS)
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(found) == sum(not re.search(STREAMS, name) for name, _ in operations(document))
    for operation in found:
        if operation.method.upper() in methods:
            _try(operation, backend)


def _try(operation: APIOperation[JSON, JSON, JSON, JSON], backend: Backend) -> None:
    """Send what fits the document and what almost does; the answers must fit in any case."""

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW
    )
    @given(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    def fits(case: Case[JSON]) -> None:
        _check(case, backend)

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW
    )
    @given(operation.as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def almost(case: Case[JSON]) -> None:
        _check(case, backend)

    fits()
    if operation.body or operation.query or operation.path_parameters:
        almost()


def _check(case: Case[JSON], backend: Backend) -> None:
    headers = {"Authorization": f"Bearer {backend.token}"}
    answer = case.call(base_url=backend.url, headers=headers, timeout=ANSWER_SECONDS)
    case.validate_response(answer, checks=CHECKS)


def operations(document: Object) -> Iterator[tuple[str, Object]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method.upper()} {path}", methods[method]


def test_every_route_is_described_and_has_examples(document: Object) -> None:
    lacking = [
        f"{name}: {what}" for name, operation in operations(document) for what in missing(document, operation)
    ]
    assert not lacking, "\n".join(lacking)


def missing(document: Object, operation: Object) -> Iterator[str]:
    if not operation.get("description"):
        yield "no description"
    for name, body in _bodies(operation):
        for media, content in (dig(body, "content") or {}).items():
            if not is_binary(content) and docpage.example(document, content) is None:
                yield f"no example of its {name} ({media})"
    if "401" in operation["responses"] and not operation.get("security"):
        yield "needs a token and does not say so"


def _bodies(operation: Object) -> Iterator[tuple[str, Object]]:
    """The request and all answers, good and bad."""
    yield "request", operation.get("requestBody") or {}
    for status, answer in operation["responses"].items():
        yield f"answer {status}", answer


def test_every_example_fits_its_schema(document: Object) -> None:
    wrong = [
        f"{name}: {what}: {error}"
        for name, operation in operations(document)
        for what, body in _bodies(operation)
        for media, content in (dig(body, "content") or {}).items()
        if media == "application/json"
        for error in _errors(document, content)
    ]
    assert not wrong, "\n".join(wrong)


def _errors(document: Object, content: Object) -> Iterator[object]:
    schema = {**content["schema"], "components": document["components"]}
    yield from jsonschema_rs.validator_for(schema).iter_errors(docpage.example(document, content))


def _good(operation: Object) -> Object:
    return next((body for code, body in operation["responses"].items() if code.startswith("2")), {})


def is_binary(content: Object) -> bool:
    return bool(dig(content, "schema", "format") == "binary")


def test_every_route_says_what_it_does_in_a_few_plain_words(document: Object) -> None:
    shown = {name: operation["summary"] for name, operation in operations(document)}
    assert shown == {name: SUMMARIES.get(name) for name in shown}
    assert set(shown) == set(SUMMARIES)


def test_the_conversion_shown_is_what_its_request_really_becomes(backend: Backend, document: Object) -> None:
    request, answer = shown(document, "POST /api/convert")
    with backend.rest() as rest:
        assert rest.post("/api/convert", json=request).json() == answer
    assert {line["verdict"] for line in answer["report"]} >= {"not carried over", "behaves differently"}


@pytest.mark.parametrize(("change", "is_suspended"), [("suspend", True), ("resume", False)])
def test_the_answer_shown_for_a_change_is_that_of_the_change(
    change: str, is_suspended: bool, document: Object
) -> None:
    _, answer = shown(document, f"POST /api/trainjob/{{name}}/{change}")
    assert answer["suspended"] is is_suspended


def shown(document: Object, name: str) -> tuple[JSON, JSON]:
    """The examples of a route's request and of its answer."""
    operation = dict(operations(document))[name]
    bodies = operation.get("requestBody"), _good(operation)
    contents = (dig(body, "content", "application/json") for body in bodies)
    request, answer = (docpage.example(document, content or {}) for content in contents)
    return request, answer


def test_the_line_to_upload_an_archive_can_be_sent(document: Object) -> None:
    page = html.unescape(docpage.page(document))
    line = next(part for part in page.split("<pre>") if "/api/trainjob/upload" in part.split("</pre>")[0])
    assert "-F archive=@code.zip" in line
    assert '-F \'request={"user_id":' in line
    assert "Content-Type" not in line.split("</pre>")[0]


def test_the_page_for_people_names_every_route_and_loads_nothing(backend: Backend, document: Object) -> None:
    page = httpx.get(f"{backend.url}/docs", timeout=ANSWER_SECONDS, trust_env=False)
    assert page.status_code == 200
    for path in document["paths"]:
        assert f"<code>{path}</code>" in page.text
    assert "<script" not in page.text
    assert "http://" not in page.text.replace(backend.url, "")
    assert "https://" not in page.text
