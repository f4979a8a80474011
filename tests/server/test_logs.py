"""The logs: one line of audit for each request, and never a secret in any of them."""

from __future__ import annotations

import base64
import json
import secrets
import time

from tests.server.wire import SOCKET, Wire
from tests.servers import Server


class TestLogs:
    def test_no_secret_ever_gets_into_a_log(
        self, wire: Wire, bot: Wire, nobody: Wire, space: str, server: Server
    ) -> None:
        marker = f"marker{secrets.token_hex(12)}"
        hidden = base64.b64encode(marker.encode()).decode()
        path = f"/api/v1/namespaces/{space}/secrets"
        wire.ask(
            "POST", path, {"metadata": {"name": "s"}, "stringData": {"a": marker}, "data": {"b": hidden}}
        )
        wire.ask("POST", path, {"metadata": {"name": "S!"}, "stringData": {"a": marker}})
        wire.ask(
            "POST", path, {"metadata": {"name": "t"}, "data": {marker: 3, "b": marker + "!"}, marker: marker}
        )
        wire.ask("POST", path, f'{{"stringData": {{"a": "{marker}"'.encode())
        wire.ask("PATCH", f"{path}/s", {"stringData": {"a": marker}}, "application/merge-patch+json")
        wire.ask(
            "PATCH",
            f"{path}/s",
            [{"op": "test", "path": "/data/a", "value": marker}],
            "application/json-patch+json",
        )
        wire.ask("GET", path)
        wire.ask("GET", f"{path}?access_token={marker}&token={marker}&password={marker}")
        for stream in ("exec", "attach"):
            asked = f"/api/v1/namespaces/{space}/pods/p/{stream}?command=echo&command={marker}&stdout=1"
            wire.ask("GET", asked, headers=SOCKET)
            wire.ask("POST", asked)
        for token in (marker, bot.token):
            wire.ask("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": token}})
        wire.ask("GET", f"/apis/authentication.k8s.io/v1/tokenreviews?token={marker}")
        nobody.ask("GET", path, headers={"Authorization": f"Bearer {marker}"})
        nobody.ask("GET", path, headers={"Authorization": f"Basic {marker}"})
        bot.ask("GET", path)
        text = _audited(server, wire, count=1)
        for secret in (marker, hidden, wire.token, bot.token):
            assert secret not in text
            assert secret not in server.log

    def test_the_audit_log_has_one_line_for_each_request(
        self, wire: Wire, bot: Wire, nobody: Wire, space: str, server: Server
    ) -> None:
        agent = {"User-Agent": f"counted-{secrets.token_hex(6)}"}
        maps = f"/api/v1/namespaces/{space}/configmaps"
        for name in ("a", "a", "!"):
            wire.ask("POST", maps, {"metadata": {"name": name}}, headers=agent)
        wire.ask("POST", maps, b"[]", headers=agent)
        wire.ask("POST", maps, b" " * (3 << 20) + b"{}", headers=agent)
        wire.ask("GET", f"{maps}?watch=1&timeoutSeconds=1", headers=agent)
        wire.ask("BREW", maps, headers=agent)  # no HTTP method: never becomes a request
        wire.ask("OPTIONS", maps, headers=agent)
        nobody.ask("GET", "/version", headers=agent)
        nobody.ask("GET", maps, headers=agent)
        bot.ask("DELETE", f"{maps}/a", headers=agent)
        bot.ask("GET", f"/api/v1/namespaces/{space}/pods/p/exec", headers=agent | SOCKET)
        text = _audited(server, wire, count=11, mark=agent["User-Agent"])
        lines = [json.loads(line) for line in text.split("\n") if line]
        found = [
            (line["verb"], line["code"]) for line in lines if line.get("userAgent") == agent["User-Agent"]
        ]
        assert found == [
            ("create", 201), ("create", 409), ("create", 422), ("create", 400), ("create", 413), ("watch",
            200),
            ("options", 405), ("get", 200), ("get", 401), ("delete", 403), ("get", 403),
        ]  # fmt: skip
        assert all(line["user"] for line in lines)


def _audited(server: Server, wire: Wire, count: int, mark: str = "") -> str:
    """The audit log once it holds so many lines with the mark: it is written a moment behind the answers."""
    mark = mark or f"last-{secrets.token_hex(6)}"
    if count == 1:
        wire.ask("GET", "/version", headers={"User-Agent": mark})
    deadline = time.monotonic() + 20
    while True:
        file = server.data / "audit.log"
        text = file.read_text() if file.exists() else ""
        if text.count(mark) >= count and text.endswith("\n"):
            return text
        assert time.monotonic() < deadline, f"{text.count(mark)} of {count} lines"
        time.sleep(0.02)
