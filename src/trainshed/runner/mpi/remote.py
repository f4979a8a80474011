"""Runs commands in other pods of an MPI job: `listen` in workers, `reach` in place of ssh in the launcher.

Runs inside containers with whatever Python is there (3.8 or newer) and nothing but its standard library. Both
sides hold the job's ssh key; each proves it to the other before a command is sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import signal
import socket
import struct
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PORT = 2222
GREETING = b"trainshed-mpi-1"
_HEAD = struct.Struct("!cI")
_MOST = 1 << 20
_PIECE = 1 << 16
_PROOF_SECONDS = 30.0
_TRY_SECONDS = 60.0
_FAREWELL_SECONDS = 30.0
_SSH_FAILED = 255
_LEFT = "the other side has left"
_WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"
"""The options of ssh that take a value."""


class Refused(Exception):
    pass


# --- both sides -------------------------------------------------------------------------------------------


def secret_in(folder: str) -> bytes:
    """What both sides know: the private key of the job."""
    for name in ("id_rsa", "id_ecdsa", "id_ed25519", "ssh-privatekey"):
        path = Path(folder) / name
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).digest()
    raise Refused(f"no ssh key in {folder}: mount the job's ssh secret there")


def proof(secret: bytes, role: bytes, *nonces: bytes) -> bytes:
    return hmac.new(secret, role + b"".join(nonces), hashlib.sha256).digest()


async def receive(reader: StreamReader) -> tuple[bytes, bytes]:
    """One message: its kind and its content; raises `Refused` when the other side is gone."""
    try:
        kind, size = _HEAD.unpack(await reader.readexactly(_HEAD.size))
        if size > _MOST:
            raise Refused("a message is too long")
        return kind, await reader.readexactly(size)
    except asyncio.IncompleteReadError:
        raise Refused(_LEFT) from None


async def send(writer: StreamWriter, kind: bytes, content: bytes = b"") -> None:
    writer.write(_HEAD.pack(kind, len(content)) + content)
    await writer.drain()


async def expect(reader: StreamReader, kind: bytes) -> bytes:
    found, content = await receive(reader)
    if found != kind:
        raise Refused("this is not the launch agent of Trainshed")
    return content


# --- the worker -------------------------------------------------------------------------------------------


async def listen(address: str, port: int, folder: str) -> None:
    """Serve for ever; the key is read for each caller, as it may be mounted late."""

    async def attend(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            command = await asyncio.wait_for(_admitted(reader, writer, secret_in(folder)), _PROOF_SECONDS)
            await _run(command, reader, writer)
        except ConnectionError:
            pass  # a probe that only looked whether we are there
        except (Refused, asyncio.TimeoutError, OSError) as why:  # noqa: UP041  (not the same before 3.11)
            if str(why) != _LEFT:
                print(f"a caller was turned away: {why}", file=sys.stderr, flush=True)
        finally:
            writer.close()

    server = await asyncio.start_server(attend, address, port)
    print(f"Server listening on {address} port {port}.", flush=True)
    async with server:
        await server.serve_forever()


async def _admitted(reader: StreamReader, writer: StreamWriter, secret: bytes) -> str:
    """The command of a caller that has proved to know the secret."""
    ours = os.urandom(32)
    await send(writer, b"h", GREETING + ours)
    answer = await expect(reader, b"p")
    theirs, given = answer[:32], answer[32:]
    if not hmac.compare_digest(given, proof(secret, b"caller", ours, theirs)):
        raise Refused("the caller does not know the key of this job")
    await send(writer, b"p", proof(secret, b"listener", ours, theirs))
    command = json.loads(await expect(reader, b"c"))["command"]
    return str(command)


async def _run(command: str, reader: StreamReader, writer: StreamWriter) -> None:
    """As sshd does: by a shell, in a session of its own that ends with the connection."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    feeding = asyncio.ensure_future(_feed(reader, process.stdin))
    copies = (_copy(process.stdout, writer, b"o"), _copy(process.stderr, writer, b"e"))
    outputs = {asyncio.ensure_future(copy) for copy in copies}
    waiting = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({feeding, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if waiting.done():
            # What it left running may hold its outputs open; it has said what it had to say.
            await asyncio.wait(outputs, timeout=1.0)
            await send(writer, b"x", json.dumps(_code(waiting.result())).encode())
            feeding.cancel()
            await asyncio.wait({feeding})
            await _until_left(reader)
    finally:
        tasks = (feeding, waiting, *outputs)
        for task in tasks:
            task.cancel()
        _end_group(process.pid)
        # A caller that leaves in the middle breaks these off; nobody is to complain of that.
        await asyncio.gather(*tasks, return_exceptions=True)


async def _until_left(reader: StreamReader) -> None:
    """Hear the caller out: input for a connection that is closed would cost it what it has not read yet."""
    try:
        await asyncio.wait_for(_read_all(reader), _FAREWELL_SECONDS)
    except (asyncio.TimeoutError, OSError):  # noqa: UP041  (not the same before 3.11)
        return


async def _read_all(reader: StreamReader) -> None:
    while await reader.read(_PIECE):
        pass


def _code(returned: int) -> int:
    return 128 - returned if returned < 0 else returned


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGHUP)
    except ProcessLookupError:
        return


async def _feed(reader: StreamReader, stdin: StreamWriter) -> None:
    """What the caller types; returns when the caller is gone."""
    try:
        while True:
            kind, content = await receive(reader)
            if kind == b"i":
                stdin.write(content)
                await stdin.drain()
            elif kind == b"z":
                stdin.close()
    except (Refused, OSError):
        return


async def _copy(source: StreamReader, writer: StreamWriter, kind: bytes) -> None:
    while True:
        piece = await source.read(_PIECE)
        if not piece:
            return
        await send(writer, kind, piece)


# --- the launcher -----------------------------------------------------------------------------------------


class Call(NamedTuple):
    host: str
    port: int
    command: str


def parse(arguments: Sequence[str]) -> Call:
    """The command line of ssh, as far as it matters here: `[-o …] [-p …] [user@]host command…`."""
    port, rest = PORT, list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        option = rest.pop(0)
        if option[1:2] in _WITH_VALUE:
            value = option[2:] or (rest.pop(0) if rest else "")
            if option[1] == "p" and value.isdigit():
                port = int(value)
    rest = [part for index, part in enumerate(rest) if part != "--" or index > 0]
    if not rest:
        raise Refused("no host was named")
    return Call(rest[0].rpartition("@")[2], port, " ".join(rest[1:]))


async def reach(call: Call, folder: str) -> int:
    """Run the command there, show what it says here; its exit code."""
    reader, writer = await _connected(call)
    try:
        await _prove(reader, writer, secret_in(folder))
        await send(writer, b"c", json.dumps({"command": call.command}).encode())
        feeding = asyncio.ensure_future(_send_input(writer))
        try:
            return await _show(reader)
        finally:
            feeding.cancel()
    finally:
        writer.close()


async def _connected(call: Call) -> tuple[StreamReader, StreamWriter]:
    """Workers may start later than their launcher: try for a while."""
    deadline, wait = time.monotonic() + _TRY_SECONDS, 0.05
    while True:
        try:
            return await asyncio.open_connection(call.host, call.port)
        except OSError as why:
            if time.monotonic() > deadline:
                raise Refused(f"cannot reach {call.host} port {call.port}: {why}") from None
        await asyncio.sleep(wait)
        wait = min(1.0, wait * 2)


async def _prove(reader: StreamReader, writer: StreamWriter, secret: bytes) -> None:
    greeting = await asyncio.wait_for(expect(reader, b"h"), _PROOF_SECONDS)
    if not greeting.startswith(GREETING):
        raise Refused("this is not the launch agent of Trainshed")
    theirs, ours = greeting[len(GREETING) :], os.urandom(32)
    await send(writer, b"p", ours + proof(secret, b"caller", theirs, ours))
    try:
        answer = await expect(reader, b"p")
    except Refused:
        raise Refused("the worker does not accept our key: it belongs to another job") from None
    if not hmac.compare_digest(answer, proof(secret, b"listener", theirs, ours)):
        raise Refused("the worker does not know the key of this job")


async def _send_input(writer: StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return
    while True:
        piece = await loop.run_in_executor(None, os.read, 0, _PIECE)
        if not piece:
            await send(writer, b"z")
            return
        await send(writer, b"i", piece)


async def _show(reader: StreamReader) -> int:
    while True:
        kind, content = await receive(reader)
        if kind == b"x":
            return int(json.loads(content))
        stream = sys.stderr.buffer if kind == b"e" else sys.stdout.buffer
        stream.write(content)
        stream.flush()


# --- command line -----------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """`listen ADDRESS PORT FOLDER`, or `reach FOLDER` and the arguments of ssh."""
    try:
        if arguments[:1] == ["listen"]:
            asyncio.run(listen(arguments[1], int(arguments[2]), arguments[3]))
            return 0
        return asyncio.run(reach(parse(arguments[2:]), arguments[1]))
    except (Refused, socket.gaierror) as why:
        print(f"{arguments[0]}: {why}", file=sys.stderr)
        return _SSH_FAILED
    except KeyboardInterrupt:
        return _SSH_FAILED


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # a thread may still wait for input that never comes
