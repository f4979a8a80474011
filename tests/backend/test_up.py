"""The REST backend as a part of `trainshed up`: its address, its life beside the others, its settings."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.places import Place, one_line_error
from trainshed.kube.objects import Object

WAIT = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    found = Place(tmp_path / "data")
    yield found
    found.run("down")


def up(place: Place, *options: str) -> None:
    place.run("up", "--port", "0", "--backend", *options)


def backend(place: Place) -> Object:
    found: Object = place.status()["backend"]
    return found


def whoami(place: Place, url: str) -> Object:
    token = place.run("token").stdout.strip()
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{url}/api/whoami", headers=headers, timeout=WAIT, trust_env=False)
    found: Object = answer.raise_for_status().json()
    return found


def test_up_starts_the_backend_too_and_says_where(place: Place) -> None:
    """As somebody types it, without any option about the backend."""
    command = [word for word in place.command("up", "--port", "0") if word != "--no-backend"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=90, env=place.surroundings())
    assert ran.returncode == 0, ran.stderr
    url = json.loads((place.root / "rest.json").read_text())["url"]
    assert f"REST API    {url}" in ran.stdout
    assert whoami(place, url)["namespace"] == "default"
    assert backend(place)["url"] == url
    headers = {"Authorization": f"Bearer {place.run('token').stdout.strip()}"}
    metrics = httpx.get(f"{url}/metrics", headers=headers, timeout=WAIT, trust_env=False).text
    assert 'trainshed_reconciles_total{controller="jobset",result="done"}' in metrics
    assert "Stopped the REST backend" in place.run("down").stdout


@contextmanager
def usual_port_taken() -> Iterator[None]:
    """Hold it, unless somebody else does so for good: tests beside this one have it for moments."""
    until = time.monotonic() + WAIT / 2
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        while time.monotonic() < until:
            try:
                holder.bind(("127.0.0.1", 8000))
                holder.listen()
                break
            except OSError:
                time.sleep(0.05)
        yield


def test_up_says_that_the_usual_port_is_taken(place: Place) -> None:
    with usual_port_taken():
        said = place.run("up", "--port", "0", "--backend").stdout
    url = place.run("url").stdout.strip()
    assert not url.endswith(":8000")
    assert f"REST API    {url} (8000 is taken; see {url}/docs)\n" in said
    whoami(place, url)
    log, until = place.root / "backend-access.log", time.monotonic() + WAIT
    while not log.exists():  # the line comes when the answer has gone
        assert time.monotonic() < until
        time.sleep(0.02)
    assert log.stat().st_mode & 0o777 == 0o600


def test_before_any_start_there_is_neither_token_nor_address(place: Place) -> None:
    said = "there is no token yet: the control plane was never started here. Hint: start it once with "
    assert said in one_line_error(place.run("token", code=3))
    assert "the control plane is not running. Hint: " in one_line_error(place.run("url", code=3))


def test_a_killed_backend_comes_back_at_the_same_address(place: Place) -> None:
    with usual_port_taken():  # so that it has one that nobody else wants meanwhile
        up(place)
    before = backend(place)
    os.kill(before["pid"], signal.SIGKILL)
    up(place)
    after = backend(place)
    assert after["url"] == before["url"]
    assert after["pid"] != before["pid"]
    whoami(place, after["url"])


def test_the_backend_follows_a_server_that_comes_back_elsewhere(place: Place) -> None:
    up(place)
    before = place.status()
    os.kill(before["pids"]["apiserver"], signal.SIGKILL)
    with_other_certificates = place.root / "pki"
    for file in with_other_certificates.iterdir():
        file.unlink()
    up(place)
    until = time.monotonic() + WAIT
    while True:
        try:
            assert whoami(place, before["backend"]["url"])["user"]
            break
        except httpx.HTTPError:  # it has not noticed yet, or is just starting over
            assert time.monotonic() < until
            time.sleep(0.1)
    assert backend(place)["pid"] == before["backend"]["pid"]


def test_without_the_backend_is_remembered(place: Place) -> None:
    up(place)
    assert place.run("url").stdout == f"{backend(place)['url']}\n"
    stopped = place.run("up", "--no-backend").stdout
    assert "\nREST API    stopped; " in stopped
    assert "REST API" not in place.run("up", "--no-backend").stdout
    assert "the REST backend is not running. Hint: " in one_line_error(place.run("url", code=3))
    assert backend(place)["running"] is False
    command = [word for word in place.command("up") if word != "--no-backend"]
    subprocess.run(command, check=True, capture_output=True, timeout=90, env=place.surroundings())
    assert backend(place)["running"] is False


def test_settings_of_the_backend_are_checked_and_count(place: Place) -> None:
    place.root.mkdir()
    config = place.root / "config.toml"
    config.write_text("[backend]\nrate_per_secnd = 3\n")
    assert "backend.rate_per_secnd is not a setting" in one_line_error(place.run("up", "--backend", code=2))
    config.write_text('[backend]\nbind = "0.0.0.0"\n')
    assert "needs cert and key" in one_line_error(place.run("up", "--backend", code=2))
    config.write_text("[backend]\nrate_per_second = 0.001\nrate_burst = 2\n")
    up(place)
    url = backend(place)["url"]
    whoami(place, url)
    whoami(place, url)
    with pytest.raises(httpx.HTTPStatusError, match="429"):
        whoami(place, url)
