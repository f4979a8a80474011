"""Tokens that change: files that are re-read and programs that are asked again."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.client.stub import Seen, Wire, serving
from trainshed.client.client import Client
from trainshed.client.credentials import Credentials
from trainshed.client.failures import NoCredentials
from trainshed.client.kubeconfig import Config, ExecPlugin, User
from trainshed.client.transport import HttpTransport

V1 = "client.authentication.k8s.io/v1"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_plugin(folder: Path, script: str, **settings: str | bool) -> ExecPlugin:
    """A plugin that is a Python script; each run adds a line to `runs`."""
    file = folder / "plugin.py"
    file.write_text(f"import json, os, sys\nopen({str(folder / 'runs')!r}, 'a').write('run\\n')\n{script}\n")
    return ExecPlugin(sys.executable, (str(file),), interactive="Never", **settings)  # type: ignore[arg-type]


def printing(status: dict[str, str], version: str = V1) -> str:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"print(json.dumps({answer!r}))"


def runs(folder: Path) -> int:
    return len((folder / "runs").read_text().splitlines())


def credentials(plugin: ExecPlugin, now: datetime = NOON) -> Credentials:
    return Credentials(Config("https://c", user=User(exec=plugin)), lambda: now)


async def authorization(source: Credentials) -> str:
    return dict((await source.proof()).headers).get("Authorization", "")


class TestFixed:
    async def test_a_token_is_a_bearer_token(self) -> None:
        assert await authorization(Credentials(Config("", user=User(token="t")))) == "Bearer t"

    async def test_a_name_and_password_are_basic(self) -> None:
        user = User(username="u", password="p")
        assert await authorization(Credentials(Config("", user=user))) == "Basic dTpw"

    async def test_no_user_proves_nothing(self) -> None:
        assert (await Credentials(Config("")).proof()).headers == ()


class TestTokenFiles:
    async def test_a_new_token_is_used_at_once(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        source = Credentials(Config("", user=User(token_file=file)))
        for token in ("one", "two"):
            file.write_text(f"{token}\n")
            assert await authorization(source) == f"Bearer {token}"

    async def test_a_file_that_vanished_leaves_the_last_token(self, tmp_path: Path) -> None:
        file = tmp_path / "token"
        file.write_text("one")
        source = Credentials(Config("", user=User(token_file=file)))
        await source.proof()
        file.unlink()
        assert await authorization(source) == "Bearer one"

    async def test_a_file_that_never_was_is_one_clear_line(self, tmp_path: Path) -> None:
        with pytest.raises(
            NoCredentials, match=r"cannot read the token file .*/token: No such file or directory"
        ):
            await Credentials(Config("", user=User(token_file=tmp_path / "token"))).proof()


class TestExecPlugins:
    async def test_its_token_is_used_and_kept(self, tmp_path: Path) -> None:
        source = credentials(a_plugin(tmp_path, printing({"token": "t"})))
        assert [await authorization(source) for _ in range(3)] == ["Bearer t"] * 3
        assert runs(tmp_path) == 1

    async def test_it_is_asked_again_shortly_before_its_token_ends(self, tmp_path: Path) -> None:
        status = {"token": "t", "expirationTimestamp": "2026-01-01T12:00:05Z"}
        source = credentials(a_plugin(tmp_path, printing(status)))
        for _ in range(2):
            await source.proof()
        assert runs(tmp_path) == 2

    async def test_a_token_that_lasts_is_kept(self, tmp_path: Path) -> None:
        end = (NOON + timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
        source = credentials(a_plugin(tmp_path, printing({"token": "t", "expirationTimestamp": end})))
        for _ in range(2):
            await source.proof()
        assert runs(tmp_path) == 1

    async def test_it_may_give_a_certificate(self, tmp_path: Path) -> None:
        status = {"clientCertificateData": "cert", "clientKeyData": "key"}
        proof = await credentials(a_plugin(tmp_path, printing(status))).proof()
        assert (proof.certificate, proof.key, proof.headers) == (b"cert", b"key", ())

    async def test_it_is_told_what_it_needs(self, tmp_path: Path) -> None:
        script = (
            "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "token = info['spec']['cluster']['server'] + os.environ['X']\n"
            "print(json.dumps(info | {'status': {'token': token}}))"
        )
        plugin = ExecPlugin(
            *(lambda made: (made.command, made.args))(a_plugin(tmp_path, script)),
            env=(("X", "-x"),),
            provide_cluster=True,
            interactive="Never",
        )
        assert await authorization(credentials(plugin)) == "Bearer https://c-x"

    @pytest.mark.parametrize(
        ("script", "message"),
        [
            ("sys.exit(3)", "failed with exit code 3"),
            ("print('hello')", "did not print an ExecCredential"),
            ("print('{}')", "did not print an ExecCredential"),
            (printing({}), "gave neither a token nor a certificate"),
            (
                printing({"token": "t"}, "client.authentication.k8s.io/v1beta1"),
                "answered in .*v1beta1, not .*v1",
            ),
        ],
    )
    async def test_each_failure_is_one_clear_line(self, tmp_path: Path, script: str, message: str) -> None:
        with pytest.raises(NoCredentials, match=message) as refused:
            await credentials(a_plugin(tmp_path, script)).proof()
        assert "\n" not in str(refused.value)

    async def test_a_missing_program_comes_with_its_hint(self) -> None:
        plugin = ExecPlugin("/none/login", install_hint="get it from example.com")
        with pytest.raises(
            NoCredentials, match=r"cannot run .*: No such file.* Hint: get it from example\.com"
        ):
            await credentials(plugin).proof()

    async def test_one_that_needs_a_terminal_is_refused_without(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with (tmp_path / "stdin").open("w+") as no_terminal:
            monkeypatch.setattr("sys.stdin", no_terminal)
            with pytest.raises(NoCredentials, match="needs a terminal"):
                await credentials(ExecPlugin("login", interactive="Always")).proof()

    async def test_a_refused_token_is_replaced_once(self, tmp_path: Path) -> None:
        count = "len(open(sys.argv[0].replace('plugin.py', 'runs')).readlines())"
        script = (
            f"print(json.dumps({{'apiVersion': '{V1}', 'kind': 'ExecCredential', "
            f"'status': {{'token': 't' + str({count})}}}}))"
        )

        async def accept_the_second(request: Seen, wire: Wire) -> None:
            await wire.answer(200 if request.headers["authorization"] == "Bearer t2" else 401, {"ok": True})

        async with serving(accept_the_second) as stub:
            user = User(exec=a_plugin(tmp_path, script))
            async with Client(HttpTransport(stub.config(user))) as client:
                assert await client.server_version() == {"ok": True}
        assert runs(tmp_path) == 2
