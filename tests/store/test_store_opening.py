"""Opening a data folder: made on first use, kept by one process, refused in one clear line."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from trainshed.store.faults import Corrupt, DiskFailed, InUse, NewerFormat, StoreFault
from trainshed.store.records import Draft, Key
from trainshed.store.sqlite import FILE_NAME
from trainshed.store.store import Make, Store

CHILDREN = Path(__file__).parent / "children"
Open = Callable[..., Store]
Text = Callable[[str], Make]

ONE = Key("pods", "a", "one")


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def refusal(folder: Path) -> StoreFault:
    with pytest.raises(StoreFault) as refused:
        Store.open(folder)
    assert "\n" not in refused.value.message
    assert str(folder) in refused.value.message
    return refused.value


async def make_store(folder: Path) -> Store:
    store = Store.open(folder)
    await store.put(ONE, lambda revision: Draft(b"x"))
    return store


async def make_and_close(folder: Path) -> None:
    await (await make_store(folder)).close()


async def test_a_new_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    await make_and_close(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_the_cluster_id_stays_with_the_folder(open_store: Open, tmp_path: Path) -> None:
    store = open_store()
    await store.close()
    again = open_store()
    assert again.cluster_id == store.cluster_id
    other = Store.open(tmp_path / "other")
    await other.close()
    assert other.cluster_id != store.cluster_id


async def test_a_folder_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    await make_and_close(tmp_path)
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    before = contents(tmp_path)
    fault = refusal(tmp_path)
    assert isinstance(fault, NewerFormat)
    assert "format 7" in fault.message
    assert contents(tmp_path) == before


async def test_a_newer_format_told_by_the_meta_table_alone_is_refused_too(tmp_path: Path) -> None:
    await make_and_close(tmp_path)
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("UPDATE meta SET value = 7 WHERE name = 'format'")
    connection.close()
    assert isinstance(refusal(tmp_path), NewerFormat)


@pytest.mark.parametrize("content", [b"not a database " * 500, b"SQLite format 3\0" + bytes(range(256)) * 40])
def test_a_file_that_is_not_ours_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    assert isinstance(refusal(tmp_path), Corrupt)
    assert (tmp_path / FILE_NAME).read_bytes() == content


async def test_a_strangers_database_is_refused_untouched(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        connection.execute("CREATE TABLE meta (a)")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    before = (tmp_path / FILE_NAME).read_bytes()
    assert isinstance(refusal(tmp_path), Corrupt)
    assert (tmp_path / FILE_NAME).read_bytes() == before


async def test_a_damaged_database_is_refused(tmp_path: Path, text: Text) -> None:
    store = await make_store(tmp_path)
    for number in range(100):
        await store.put(Key("pods", "a", f"p{number}"), text("x" * 1000))
    await store.close()
    with (tmp_path / FILE_NAME).open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(8 * 4096))
    assert isinstance(refusal(tmp_path), Corrupt)
    assert isinstance(refusal(tmp_path), Corrupt), "the lock was let go of"


async def test_an_empty_file_left_by_a_crash_while_creating_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).touch()
    await make_and_close(tmp_path)


def test_the_second_process_is_told_the_pid_of_the_first(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, str(CHILDREN / "holder.py"), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        fault = refusal(tmp_path)
        holder.communicate(timeout=30)
    assert isinstance(fault, InUse)
    assert fault.pid == pid
    assert f"process {pid}" in fault.message


async def test_one_process_cannot_open_a_folder_twice(tmp_path: Path) -> None:
    store = await make_store(tmp_path)
    assert isinstance(refusal(tmp_path), InUse)
    await store.put(ONE, lambda revision: Draft(b"still fine"))
    await store.close()
    await make_and_close(tmp_path)


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_that_cannot_be_written_is_refused_in_one_line(exists: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if exists:
            asyncio.run(make_and_close(folder))
            (folder / "lock").chmod(0o666)
        folder.chmod(0o555)
        told = powerless(folder if exists else folder / "new")
        folder.chmod(0o755)
    assert told.startswith("ReadOnly ")


@pytest.mark.parametrize("size", ["0", "100", "9000", "20000"])
@pytest.mark.parametrize("exists", [True, False])
async def test_a_folder_without_room_is_refused_in_one_line(tmp_path: Path, size: str, exists: bool) -> None:
    if exists:
        await make_and_close(tmp_path)
    told = powerless(tmp_path, size)
    assert told.startswith(("DiskFull ", "DiskFailed "))
    store = Store.open(tmp_path)
    assert store.count("pods") == int(exists)
    await store.close()


def powerless(folder: Path, *more: str) -> str:
    """The fault of a process that lacks what it takes to open the folder."""
    command = [sys.executable, str(CHILDREN / "powerless.py"), str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("\n") == 1, done.stdout
    return done.stdout


def test_a_path_through_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(refusal(tmp_path / "file" / "data"), DiskFailed)
