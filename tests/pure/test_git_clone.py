"""The script by which pods clone: branches, tags, commits, and credentials that stay in their files."""

from __future__ import annotations

import base64
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from trainshed.kinds.trainer import git_clone

_GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [*_GIT, "-C", str(folder), *words], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits on main; the first one has a tag, a third one is on a branch."""
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "-q")
    for number, branch in ((1, "main"), (2, "main"), (3, "feature/x")):
        git(place, "checkout", "-q", "-B", branch)
        (place / "number").write_text(str(number))
        git(place, "add", ".")
        git(place, "commit", "-qm", str(number))
        if number == 1:
            git(place, "tag", "v1")
    git(place, "checkout", "-q", "main")
    return place


def clone(tmp_path: Path, url: str, ref: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    env |= {"GIT_SYNC_REPO": url, "GIT_SYNC_BRANCH": ref, "GIT_SYNC_ROOT": str(root), **more}
    return subprocess.run(["sh", "-c", git_clone.SCRIPT], env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("ref", "number"), [("", "2"), ("main", "2"), ("v1", "1"), ("feature/x", "3")])
def test_a_branch_a_tag_or_the_default_is_checked_out(
    tmp_path: Path, repository: Path, ref: str, number: str
) -> None:
    done = clone(tmp_path, f"file://{repository}", ref)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root" / "number").read_text() == number


@pytest.mark.parametrize("length", [40, 8])
def test_a_commit_is_checked_out_also_by_the_beginning_of_its_name(
    tmp_path: Path, repository: Path, length: int
) -> None:
    commit = git(repository, "rev-parse", "v1")[:length]
    done = clone(tmp_path, f"file://{repository}", commit)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root" / "number").read_text() == "1"


@pytest.mark.parametrize("ref", ["nothing", "-x"])
def test_a_ref_that_is_not_there_fails_in_gits_words(tmp_path: Path, repository: Path, ref: str) -> None:
    done = clone(tmp_path, f"file://{repository}", ref)
    assert done.returncode != 0
    assert f"couldn't find remote ref {ref}" in done.stderr


def test_text_in_a_url_or_a_ref_is_never_run(tmp_path: Path, repository: Path) -> None:
    for url, ref in (
        (f"file://{tmp_path}/$(touch {tmp_path}/a)", ""),
        (f"file://{repository}", "`touch b`"),
        ("ext::sh -c touch% c", ""),
        (f"file://{repository}", f"--upload-pack=touch {tmp_path}/d;"),
    ):
        assert clone(tmp_path, url, ref).returncode != 0
    assert not {"a", "b", "c", "d"} & {path.name for path in tmp_path.rglob("*")}


# --- credentials --------------------------------------------------------------------------------------------


class _Guarded(SimpleHTTPRequestHandler):
    """A repository as plain files, for whoever has the password."""

    def do_GET(self) -> None:
        sent = self.headers.get("Authorization", "")
        if sent != f"Basic {base64.b64encode(b'me:s3cr3t').decode()}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def guarded(repository: Path) -> Iterator[str]:
    git(repository, "update-server-info")
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *given: _Guarded(*given, directory=str(repository / ".git"))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    "secret", [{"username": "me", "password": "s3cr3t"}, {"username": "me", "token": "s3cr3t"}]
)
def test_credentials_are_read_from_files_and_left_nowhere(
    tmp_path: Path, guarded: str, secret: dict[str, str]
) -> None:
    keys = tmp_path / "keys"
    keys.mkdir()
    for name, value in secret.items():
        (keys / name).write_text(value)
    done = clone(tmp_path, guarded, "v1", GIT_SYNC_CREDENTIALS=str(keys), GIT_TRACE="1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "root" / "number").read_text() == "1"
    left = [
        path for path in (tmp_path / "root").rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()
    ]
    assert left == []
    assert "s3cr3t" not in done.stdout + done.stderr  # the trace shows every command line


def test_without_credentials_nobody_is_asked_and_the_clone_fails(tmp_path: Path, guarded: str) -> None:
    done = clone(tmp_path, guarded, GIT_SYNC_CREDENTIALS=str(tmp_path / "none"))
    assert done.returncode != 0


def test_a_key_is_given_to_ssh_as_a_file_only_its_owner_reads(tmp_path: Path) -> None:
    keys, tools = tmp_path / "keys", tmp_path / "tools"
    keys.mkdir()
    tools.mkdir()
    (keys / "ssh-privatekey").write_text("the key")
    (keys / "known_hosts").write_text("example.com ssh-ed25519 x")
    (tools / "ssh").write_text('#!/bin/sh\necho "ssh $*" >&2; stat -c %a "$2" >&2; cat "$2" >&2; exit 1\n')
    (tools / "ssh").chmod(0o755)
    path = f"{tools}:/usr/local/bin:/usr/bin:/bin"
    done = clone(tmp_path, "ssh://git@example.com/a", GIT_SYNC_CREDENTIALS=str(keys), PATH=path)
    assert "StrictHostKeyChecking=yes" in done.stderr
    assert "\n600\nthe key\n" in done.stderr
