from __future__ import annotations

import httpx

from tests.backend import service
from tests.backend.service import Backend


def test_the_service_lives_and_reaches_its_cluster(backend: Backend) -> None:
    with backend.rest("") as nobody:
        assert service.ok(nobody.get("/healthz")) == {"status": "ok"}
        assert service.ok(nobody.get("/readyz")) == {"status": "ok"}


def test_the_caller_is_who_the_kubernetes_api_says(rest: httpx.Client) -> None:
    found = service.ok(rest.get("/api/whoami"))
    assert found["namespace"] == "default"
    assert "system:masters" in found["groups"]


def test_without_a_token_nobody_is_known(backend: Backend) -> None:
    with backend.rest("") as nobody:
        answer = nobody.get("/api/whoami")
    service.problem(answer, 401, "unauthorized")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_wrong_token_is_refused_as_the_kubernetes_api_refuses_it(backend: Backend) -> None:
    with backend.rest("a" * 40) as stranger:
        service.problem(stranger.get("/api/whoami"), 401, "unauthorized")


def test_unknown_paths_and_methods_have_the_error_body(rest: httpx.Client) -> None:
    service.problem(rest.get("/api/nothing"), 404, "not_found")
    service.problem(rest.delete("/healthz"), 405, "method_not_allowed")
