from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.apiserver.access.audit import Audit, Entry, sanitized
from trainshed.kube.objects import Object


def an_entry(name: str = "x") -> Entry:
    return Entry(
        time=datetime(2027, 1, 15, 8, 0, 0, 250_000, UTC),
        verb="create", path="/api/v1/namespaces/a/pods", code=201, latency_ms=1.5,
        request_id="r1", user="jane", groups=("devs",), resource="pods", version="v1", namespace="a",
        name=name,
    )  # fmt: skip


def lines(path: Path) -> list[Object]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_one_line_tells_who_did_what_to_which_object(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.log", flush_after=0)
    audit.record(an_entry())
    audit.close()
    assert lines(tmp_path / "audit.log") == [
        {
            "time": "2027-01-15T08:00:00.250000Z", "verb": "create", "path": "/api/v1/namespaces/a/pods",
            "code": 201, "latencyMs": 1.5, "requestId": "r1", "user": "jane", "groups": ["devs"],
            "version": "v1", "resource": "pods", "namespace": "a", "name": "x",
        }
    ]  # fmt: skip
    assert (tmp_path / "audit.log").stat().st_mode & 0o777 == 0o600


def test_closing_writes_everything_that_was_recorded(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit.log", flush_after=60)
    for number in range(12_000):
        audit.record(an_entry(str(number)))
    audit.close()
    assert [line["name"] for line in lines(tmp_path / "audit.log")] == [
        str(number) for number in range(12_000)
    ]


def test_a_full_log_is_rotated_and_old_ones_go(tmp_path: Path) -> None:
    for number in range(6):
        audit = Audit(tmp_path / "audit.log", most_bytes=300, backups=2, flush_after=0)
        audit.record(an_entry(str(number)))
        audit.close()
    found = {path.name: lines(path)[-1]["name"] for path in tmp_path.iterdir()}
    assert found == {"audit.log": "5", "audit.log.1": "4", "audit.log.2": "3"}


def test_a_disk_that_fails_costs_lines_but_no_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "gone"
    folder.write_text("a file where a folder should be")
    audit = Audit(folder / "audit.log", flush_after=0)
    audit._write([an_entry("lost")])
    folder.unlink()
    audit.record(an_entry("kept"))
    audit.close()
    assert [line.get("name", line.get("lost")) for line in lines(folder / "audit.log")] == ["kept", 1]
    assert "cannot be written" in caplog.text


def test_values_that_may_be_secret_are_masked() -> None:
    shown = sanitized("/api/v1/pods", b"labelSelector=a%3Db&access_token=geheim&command=export+KEY%3D1&watch")
    assert shown == "/api/v1/pods?labelSelector=a%3Db&access_token=...&command=...&watch="


@given(st.binary(max_size=80))
def test_any_query_can_be_shown(query: bytes) -> None:
    assert "\n" not in sanitized("/x", query)
