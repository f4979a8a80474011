"""A server that is told to stop does so soon, whatever its clients do."""

from __future__ import annotations

import http.client
import ssl
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from tests.servers import Server


def test_an_idle_client_does_not_hold_up_the_end(tmp_path: Path) -> None:
    server = Server(tmp_path)
    config = server.start().config()
    # The ways of an idle connection pool: connected, kept alive, and never read again.
    address, trusted = urlsplit(config.server), ssl.create_default_context(cafile=server.data / "pki/ca.crt")
    with closing(http.client.HTTPSConnection(address.netloc, context=trusted, timeout=10)) as idle:
        idle.request("GET", "/readyz")
        assert idle.getresponse().read() == b"ok"
        before = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - before < 3
