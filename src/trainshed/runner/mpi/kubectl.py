"""`kubectl exec` and nothing else, for launchers of MPIJobs: the image that would bring kubectl is not here.

Runs inside containers with whatever Python is there (3.8 or newer) and nothing but its standard library. It
speaks SPDY, as the launcher's Role allows `create` on `pods/exec` and a WebSocket asks for `get` as well.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import struct
import sys
import time
import zlib
from asyncio import StreamReader, StreamWriter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TRY_SECONDS, _RIGHTS_SECONDS = 60.0, 10.0
_PIECE = 1 << 16
_FRAME = struct.Struct("!II")
_FIN = 1 << 24
_SYN_STREAM, _PING = 0x80030001, 0x80030006
_STREAMS = {"error": 1, "stdout": 3, "stderr": 5, "stdin": 7}
_FLAGS = {"-i": "stdin", "--stdin": "stdin", "-q": "", "--quiet": ""}
_VALUES = {"-c": "container", "--container": "container", "-n": "namespace", "--namespace": "namespace"}
_USAGE = "usage: kubectl exec [-n NAMESPACE] [-c CONTAINER] [-i] POD -- COMMAND [args...]"


class Refused(Exception):
    """What cannot be done, in words."""


class NotYet(Refused):
    """The same, but it may be possible soon."""


class NoRights(NotYet):
    """A launcher has them for workers that are there: while one is replaced, it lacks them."""


class Call(NamedTuple):
    pod: str
    command: Sequence[str]
    container: str = ""
    namespace: str = ""
    stdin: bool = False


class Server(NamedTuple):
    host: str
    port: int
    authority: str
    """The file with the certificates it is trusted by."""
    token: str
    namespace: str


# --- what is asked for ------------------------------------------------------------------------------------


def parse(arguments: Sequence[str]) -> Call:
    """The command line of kubectl, as far as launchers use it."""
    words = list(arguments)
    split = words.index("--") if "--" in words else len(words)
    before, command = words[:split], words[split + 1 :]
    if before[:1] != ["exec"]:
        raise Refused(f"only exec is known here; {_USAGE}")
    found: dict[str, str] = {"container": "", "namespace": "", "stdin": ""}
    names = []
    rest = before[1:]
    while rest:
        word = rest.pop(0)
        option, equals, value = word.partition("=")
        if option in _VALUES:
            found[_VALUES[option]] = value if equals else (rest.pop(0) if rest else "")
        elif word in _FLAGS:
            found[_FLAGS[word]] = "yes"
        elif word.startswith("-"):
            raise Refused(f"option {word} is not known here; {_USAGE}")
        else:
            names.append(word)
    # Without the two dashes what follows the pod is the command.
    pod, command = (names[0].rpartition("/")[2] if names else ""), names[1:] + command
    if not pod or not command:
        raise Refused(_USAGE)
    return Call(pod, command, found["container"], found["namespace"], bool(found["stdin"]))


def server() -> Server:
    """Where the API is: as the service account's files say, or the kubeconfig plain processes have."""
    host, port = (
        os.environ.get("KUBERNETES_SERVICE_HOST", ""),
        os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    if host and (_ACCOUNT / "token").is_file():
        token, namespace = ((_ACCOUNT / name).read_text() for name in ("token", "namespace"))
        return Server(host, int(port), str(_ACCOUNT / "ca.crt"), token, namespace)
    try:
        found = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
        cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
        where, token = urlsplit(cluster["server"]), Path(user["tokenFile"]).read_text()
        namespace = found["contexts"][0]["context"]["namespace"]
        return Server(
            where.hostname or "", where.port or 443, cluster["certificate-authority"], token, namespace
        )
    except (KeyError, OSError, ValueError, LookupError) as why:
        raise Refused("this pod has no service account to speak to the API with") from why


def request(to: Server, call: Call) -> bytes:
    query = [("command", word) for word in call.command]
    query += [("container", call.container)] if call.container else []
    query += [(name, "true") for name in ("stdout", "stderr", *(["stdin"] if call.stdin else []))]
    namespace = call.namespace or to.namespace
    lines = [
        f"POST /api/v1/namespaces/{namespace}/pods/{call.pod}/exec?{urlencode(query)} HTTP/1.1",
        f"Host: {to.host}:{to.port}",
        f"Authorization: Bearer {to.token}",
        "Connection: Upgrade",
        "Upgrade: SPDY/3.1",
        "X-Stream-Protocol-Version: v4.channel.k8s.io",
        "Content-Length: 0",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


# --- speaking to the server -------------------------------------------------------------------------------


async def run(to: Server, call: Call) -> int:
    """The exit code of the command."""
    reader, writer = await _patient(to, call)
    feeding = asyncio.ensure_future(_feed(writer)) if call.stdin else None
    try:
        return _code(await _shown(reader, writer))
    finally:
        if feeding is not None:
            feeding.cancel()
        writer.close()


async def _patient(to: Server, call: Call) -> tuple[StreamReader, StreamWriter]:
    """Workers may start later than their launcher: try for a while, and say so once."""
    began, wait = time.monotonic(), 0.05
    while True:
        try:
            return await _opened(to, call)
        except (NotYet, OSError) as why:
            patience = _RIGHTS_SECONDS if isinstance(why, NoRights) else _TRY_SECONDS
            if isinstance(why, ssl.SSLError) or time.monotonic() > began + patience:
                raise Refused(str(why)) from None
            if wait == 0.4:
                print(f"kubectl: will try again: {why}", file=sys.stderr, flush=True)
        await asyncio.sleep(wait)
        wait = min(1.0, wait * 2)


async def _opened(to: Server, call: Call) -> tuple[StreamReader, StreamWriter]:
    """A connection on which the command runs."""
    trusted = ssl.create_default_context(cafile=to.authority)
    reader, writer = await asyncio.open_connection(to.host, to.port, ssl=trusted)
    try:
        writer.write(request(to, call))
        await _switched(reader)
        writer.write(opening(("error", "stdout", "stderr", *(["stdin"] if call.stdin else []))))
        await writer.drain()
    except BaseException:
        writer.close()
        raise
    return reader, writer


def opening(streams: Sequence[str]) -> bytes:
    """The frames that open streams. Headers are compressed in one go over all of them."""
    packer, frames = zlib.compressobj(), b""
    for name in streams:
        pair = b"".join(struct.pack("!I", len(part)) + part for part in (b"streamtype", name.encode()))
        packed = packer.compress(struct.pack("!I", 1) + pair) + packer.flush(zlib.Z_SYNC_FLUSH)
        body = struct.pack("!IIH", _STREAMS[name], 0, 0) + packed
        frames += _FRAME.pack(_SYN_STREAM, len(body)) + body
    return frames


async def _switched(reader: StreamReader) -> None:
    """Read the answer to the request; raises with the server's words when it is no."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        raise NotYet("the API server ended the connection") from None
    code = int(head.split(None, 2)[1])
    if code == 101:
        return
    sizes = [line[15:] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
    told = status(await reader.readexactly(int(sizes[0])) if sizes else b"")
    words = told.message or f"the API server answered {code}"
    words = f"Error from server ({told.reason}): {words}" if told.reason else f"error: {words}"
    if code == 403:
        raise NoRights(words)
    raise NotYet(words) if _may_pass(code) else Refused(words)


def _may_pass(code: int) -> bool:
    """Not there yet, not started yet, or the server has trouble of its own."""
    return code in (400, 404, 429) or code >= 500


class Status(NamedTuple):
    is_success: bool = False
    reason: str = ""
    message: str = ""
    exit_code: str = ""


def status(body: bytes) -> Status:
    """How the server says that something went."""
    try:
        found = json.loads(body)
        causes = (found.get("details") or {}).get("causes") or []
        codes = [cause.get("message", "") for cause in causes if cause.get("reason") == "ExitCode"]
        is_success = found.get("status") == "Success"
        return Status(is_success, found.get("reason", ""), found.get("message", ""), "".join(codes[:1]))
    except (ValueError, AttributeError):
        return Status()


async def _shown(reader: StreamReader, writer: StreamWriter) -> Status:
    """Pass on what the command says until it has ended; how it did."""
    outputs = {_STREAMS["stdout"]: sys.stdout.buffer, _STREAMS["stderr"]: sys.stderr.buffer}
    verdict = b""
    try:
        while True:
            first, second = _FRAME.unpack(await reader.readexactly(_FRAME.size))
            body = await reader.readexactly(second & (_FIN - 1))
            if first == _PING:
                writer.write(_FRAME.pack(first, second) + body)
            elif first in outputs:
                outputs[first].write(body)
                outputs[first].flush()
            elif first == _STREAMS["error"]:
                verdict += body
                if second & _FIN:
                    break
    except asyncio.IncompleteReadError:
        if not verdict:
            raise Refused("error: the connection to the API server was lost") from None
    return status(verdict)


def _code(ended: Status) -> int:
    if ended.is_success:
        return 0
    if not ended.exit_code.isdigit():
        raise Refused(f"error: {ended.message or 'the command could not be run'}")
    print(f"command terminated with exit code {ended.exit_code}", file=sys.stderr)
    return int(ended.exit_code)


async def _feed(writer: StreamWriter) -> None:
    loop, stream = asyncio.get_running_loop(), _STREAMS["stdin"]
    while True:
        piece = await loop.run_in_executor(None, os.read, 0, _PIECE)
        writer.write(_FRAME.pack(stream, len(piece) | (0 if piece else _FIN)) + piece)
        await writer.drain()
        if not piece:
            return


def main(arguments: Sequence[str]) -> int:
    try:
        return asyncio.run(run(server(), parse(arguments)))
    except (Refused, OSError) as why:
        print(why if str(why).startswith("Error") else f"kubectl: {why}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # a thread may still wait for input that never comes
