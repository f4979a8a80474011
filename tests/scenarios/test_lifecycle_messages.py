"""What the commands say: the next step as it can be typed, and each trouble in one line with a way out."""

from __future__ import annotations

import json
import os
import shlex
import socket
import ssl
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.places import SOURCE, Place, one_line_error
from trainshed.apiserver.access import addresses

ANOTHER_USER = """
import contextlib, encodings.idna, http.client, io, os, sys
from trainshed.cli.main import main
arguments = sys.argv[1:]
if os.geteuid() == 0:
    # Once as the superuser, so that everything is imported: others may not be able to read this Python.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main([*arguments[:-1], "/proc/none"])
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(main(arguments))
"""


def as_another_user(place: Place, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ANOTHER_USER, *arguments, "--data-dir", str(place.root)]
    return subprocess.run(command, capture_output=True, text=True, timeout=90, env=place.surroundings())


@pytest.fixture
def closed(tmp_path: Path) -> Place:
    """A data folder that nobody but the superuser can look into."""
    place = Place(tmp_path / "closed")
    place.root.mkdir()
    (place.root / "kubeconfig").write_text("")
    (place.root / "server.json").write_text("{}")
    place.root.chmod(0)
    return place


@pytest.mark.parametrize("command", ["kubeconfig", "down", "status", "up", "get", "logs any", "delete any"])
def test_a_folder_that_may_not_be_read_is_one_line(closed: Place, command: str) -> None:
    done = as_another_user(closed, *command.split())
    assert done.returncode == 3
    error = one_line_error(done)
    assert "(Permission denied). Hint: " in error
    assert "cannot tell whether it runs" in error or command != "status"


def test_a_kubeconfig_that_may_not_be_read_is_one_line(closed: Place) -> None:
    closed.root.chmod(0o755)
    (closed.root / "kubeconfig").chmod(0)
    done = as_another_user(closed, "logs", "any")
    assert done.returncode == 3
    assert f"cannot read {closed.root}/kubeconfig (Permission denied). Hint: " in one_line_error(done)


def test_status_does_not_claim_what_it_cannot_know(closed: Place) -> None:
    assert as_another_user(closed, "status").stdout.startswith("running      not known\n")
    assert json.loads(as_another_user(closed, "status", "-o", "json").stdout)["running"] is None


def test_doctor_diagnoses_a_folder_that_may_not_be_used(closed: Place) -> None:
    done = as_another_user(closed, "doctor", "-o", "json")
    assert (done.returncode, done.stderr) == (1, "")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["data folder"]["state"] == "missing"
    assert "Permission denied" in checks["data folder"]["found"]
    assert "GiB" not in checks["disk space"]["found"]


def test_hints_lead_to_the_same_folder(tmp_path: Path) -> None:
    place = Place(tmp_path / "a folder")
    command = f"{shlex.quote(sys.executable)} -m trainshed"
    where = f"--data-dir {shlex.quote(str(place.root))}"
    assert f"{command} up {where}." in one_line_error(place.run("status", code=3))
    assert f"{command} up {where}." in one_line_error(place.run("kubeconfig", code=3))
    assert f"{command} down {where}\n" in place.run("up", "--server-only", "--port", "0").stdout
    home = {**place.surroundings(), "TRAINSHED_HOME": str(place.root)}
    again = subprocess.run(
        place.command("up", "--server-only")[:-2], capture_output=True, text=True, timeout=90, env=home
    )
    assert f"{command} down {where}\n" in again.stdout
    place.run("down")


@pytest.mark.parametrize("on_path", [True, False])
def test_the_command_is_printed_as_it_was_called(tmp_path: Path, on_path: bool) -> None:
    script = tmp_path / "bin" / "trainshed"
    script.parent.mkdir()
    script.write_text(
        f"#!{sys.executable}\nimport sys\nfrom trainshed.cli.main import main\nsys.exit(main())\n"
    )
    script.chmod(0o755)
    path = f"{script.parent}:{os.environ['PATH']}" if on_path else "/usr/bin:/bin"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PATH": path, "HOME": str(tmp_path)}
    environment = {
        name: value for name, value in environment.items() if not name.startswith(("XDG", "TRAIN"))
    }
    called = "trainshed" if on_path else "bin/trainshed"
    done = subprocess.run(
        [called, "status"], capture_output=True, text=True, timeout=90, env=environment, cwd=tmp_path
    )
    assert f"start it with {called} up." in one_line_error(done)


def test_another_port_or_address_while_it_runs_is_refused(place: Place) -> None:
    place.run("up", "--server-only", "--port", "0")
    port = place.status()["address"]["port"]
    place.run("up", "--server-only", "--port", str(port), "--bind", "127.0.0.1")
    other = "7000" if port != 7000 else "7001"
    for asked in (("--port", other), ("--bind", "0.0.0.0"), ("--foreground", "--port", other)):
        error = one_line_error(place.run("up", "--server-only", *asked, code=3))
        assert f"https://127.0.0.1:{port}" in error
        assert f"down --data-dir {place.root}" in error


@pytest.mark.parametrize("bind", ["", " ", "a b", "0 x", "." * 300])
def test_what_is_no_address_is_wrong_usage(tmp_path: Path, bind: str) -> None:
    place = Place(tmp_path / "data")
    assert "--bind" in one_line_error(place.run("up", "--server-only", "--port", "0", "--bind", bind, code=2))
    assert not place.root.exists()


@pytest.mark.parametrize("bind", ["0.0.0.0", "0", "::"])
def test_listening_everywhere_is_said_and_works_from_elsewhere(place: Place, bind: str) -> None:
    printed = place.run("up", "--server-only", "--port", "0", "--bind", bind).stdout
    assert "every interface of this machine" in printed
    assert "every interface of this machine" in place.run("status").stdout
    assert "every interface" in place.log
    trusted = ssl.create_default_context(cafile=str(place.root / "pki" / "ca.crt"))
    port = place.status()["address"]["port"]
    for address in addresses.own():
        host = f"[{address}]" if ":" in address else address
        if ":" not in address or bind == "::":
            with urllib.request.urlopen(
                f"https://{host}:{port}/version", timeout=30, context=trusted
            ) as answer:
                assert answer.status == 200


def test_a_taken_port_names_the_trainshed_that_has_it(place: Place, tmp_path: Path) -> None:
    place.run("up", "--server-only", "--port", "0")
    found = place.status()
    port, pid = found["address"]["port"], found["pids"]["apiserver"]
    error = one_line_error(Place(tmp_path / "other").run("up", "--server-only", "--port", str(port), code=3))
    assert f"in use by Trainshed (process {pid}, data folder {place.root})" in error
    assert f"down --data-dir {place.root}." in error


def test_a_taken_port_names_the_program_that_has_it(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"(process {os.getpid()})" in one_line_error(
            place.run("up", "--server-only", "--port", str(port), code=3)
        )


@pytest.mark.parametrize("name", ["kubeconfig", "server.json", "server.log", "up.lock"])
def test_a_folder_where_a_file_belongs_is_named(place: Place, name: str) -> None:
    (place.root / name).mkdir(parents=True)
    error = one_line_error(place.run("up", "--server-only", "--port", "0", code=3))
    assert f"{place.root / name} is a folder where a file belongs. Hint: " in error
    (place.root / name).rmdir()


def test_a_strangers_database_is_left_alone(place: Place) -> None:
    (place.root / "store").mkdir(parents=True)
    (place.root / "store" / "store.db").write_text("something else" * 100)
    error = one_line_error(place.run("up", "--server-only", "--port", "0", code=3))
    assert "is not a database of ours. Hint: move it away" in error
    assert "Traceback" not in place.log
    assert "is not a database of ours" in place.run("doctor", code=1).stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["upp"], "Error: No such command 'upp'. Did you mean 'up'? Hint: see {} --help."),
        (["up", "--port", "abc"], "a number from 0 to 65535 is needed, not 'abc'. Hint: see {} up --help."),
        (["up", "--port", "65536"], "a number from 0 to 65535 is needed, not '65536'."),
        (["up", "--data-dir"], "requires an argument. Hint: see {} up --help."),
        (["up", "--data-dir", ""], "the name of a folder is needed. Hint: see {} up --help."),
    ],
)
def test_wrong_usage_says_what_would_be_right(tmp_path: Path, arguments: list[str], error: str) -> None:
    place = Place(tmp_path)
    command = [*place.command()[:-2], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=place.surroundings())
    assert done.returncode == 2
    assert error.format(f"{sys.executable} -m trainshed") in one_line_error(done)


def test_short_helps_fit_a_narrow_terminal(tmp_path: Path) -> None:
    place = Place(tmp_path, {"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    command = [*place.command()[:-2], "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=place.surroundings())
    assert "..." not in done.stdout.partition("Commands:")[2]


def test_a_reader_that_leaves_early_is_no_error(place: Place) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        place.command("doctor"), stdout=writing, stderr=subprocess.PIPE, timeout=90, env=place.surroundings()
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_output_that_finds_no_room_is_one_line(place: Place) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            place.command("doctor"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=90,
            env=place.surroundings(),
        )
    assert "cannot write the output (No space left on device)" in one_line_error(done)
    assert done.returncode == 1


def test_piped_tables_have_nothing_after_the_end_of_a_line(place: Place) -> None:
    lines = place.run("doctor").stdout.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []


def test_doctor_knows_its_own_server(place: Place) -> None:
    place.run("up", "--server-only", "--port", "0")
    found = json.loads(place.run("doctor", "-o", "json").stdout)
    assert all("torch" not in check["fix"] for check in found["checks"])
    assert found["healthy"] is True


def test_in_the_foreground_it_says_how_to_stop_it_and_logs_no_false_errors(place: Place) -> None:
    with place.begin("up", "--server-only", "--foreground", "--port", "0") as server:
        assert server.stdout is not None
        while not (line := server.stdout.readline()).startswith("stop it"):
            assert line, "it ended"
        assert line.split(maxsplit=2)[2] == "Ctrl-C\n"
        server.send_signal(2)
        assert "error" not in server.communicate(timeout=30)[1].lower()
        assert server.returncode == 0


def test_status_shows_both_logs(place: Place) -> None:
    place.run("up", "--server-only", "--port", "0")
    printed = place.run("status").stdout
    assert str(place.root / "server.log") in printed
    assert str(place.root / "audit.log") in printed
