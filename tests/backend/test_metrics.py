"""What Prometheus is told by the service: parsed by its own parser, after real requests and a real job."""

from __future__ import annotations

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.backend import bodies, service
from tests.backend.service import Backend
from tests.backend.test_contract import finished

Labels = frozenset[tuple[str, str]]


def scraped(rest: httpx.Client) -> dict[str, dict[Labels, float]]:
    """All samples by name and labels."""
    answer = rest.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def labelled(**labels: str) -> Labels:
    return frozenset(labels.items())


def test_requests_are_counted_by_route_and_never_by_path(rest: httpx.Client) -> None:
    rest.get("/api/trainjob/nobody/status", params={"namespace": "nowhere"})
    rest.get("/api/surprise-7f3k")
    found = scraped(rest)["trainshed_http_requests_total"]
    route = "/api/trainjob/{name}/status"
    assert found[labelled(method="GET", route=route, code="404")] >= 1
    assert found[labelled(method="ANY", route="(none)", code="404")] >= 1
    assert "surprise-7f3k" not in str(found)


def test_a_jobs_way_can_be_followed(rest: httpx.Client, namespace: str) -> None:
    before = scraped(rest)
    made = service.ok(rest.post("/api/trainjob/create", json=bodies.small(namespace)))
    assert finished(rest, made)["state"] == "Complete"
    after = scraped(rest)
    complete = labelled(state="Complete")
    assert after["trainshed_jobs"][complete] >= 1
    ended = "trainshed_jobs_finished_total"
    assert after[ended][complete] > before.get(ended, {}).get(complete, 0)
    started = "trainshed_job_start_seconds_count"
    assert after[started][labelled()] > before[started][labelled()]
    assert labelled() in after["trainshed_jobs_queued"]
    assert labelled() in after["trainshed_job_restarts"]


def test_only_those_who_may_get_the_path_see_them(backend: Backend) -> None:
    with backend.rest("") as nobody:
        service.problem(nobody.get("/metrics"), 401, "unauthorized")
