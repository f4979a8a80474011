"""Answers that come piece by piece and break off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from pathlib import Path

import pytest

from trainshed.apiserver import assembly
from trainshed.apiserver.access import admintoken
from trainshed.apiserver.answers import Stream
from trainshed.kube.objects import JSON

Message = MutableMapping[str, JSON]


async def broken() -> AsyncIterator[bytes]:
    yield b"one"
    raise ZeroDivisionError("on purpose")


async def test_a_stream_that_breaks_off_ends_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    async def send(message: Message) -> None:
        sent.append(message)

    async with assembly.running(tmp_path / "data", tmp_path / "cache", "::1", "https://[::1]:1") as app:
        token = admintoken.ensure(tmp_path / "data" / "pki" / "admin.token")
        app.handlers = {("nodes", "", "list"): lambda call: Stream(broken())}
        scope = {"type": "http", "method": "GET", "path": "/api/v1/nodes", "query_string": b""}
        scope |= {"headers": [(b"authorization", f"Bearer {token}".encode())]}
        async with asyncio.timeout(10):
            await app(scope, receive, send)
    assert [message.get("body") for message in sent[1:]] == [b"one", b""]
    assert "on purpose" in caplog.text
