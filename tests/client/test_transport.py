"""Sockets: what goes out, what comes back, and what every kind of trouble is called."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.client.stub import Seen, Wire, serving
from trainshed.client import failures, requests
from trainshed.client.kubeconfig import Config, User
from trainshed.client.requests import Request
from trainshed.client.transport import HttpTransport
from trainshed.kube.objects import encode

VERSION = requests.raw("/version")


async def greet(request: Seen, wire: Wire) -> None:
    await wire.answer(200, {"hello": request.path})


class TestRequests:
    async def test_method_path_query_headers_and_body_arrive(self) -> None:
        async with serving(greet) as stub, HttpTransport(stub.config(User(token="t0ken"))) as transport:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            await transport.send(Request("POST", "/a/b%3Ac", (("q", "x y&z"),), headers, b'{"a":1}'))
        (seen,) = stub.seen
        assert (seen.method, seen.target, seen.body) == ("POST", "/a/b%3Ac?q=x%20y%26z", b'{"a":1}')
        assert seen.headers["authorization"] == "Bearer t0ken"
        assert seen.headers["user-agent"].startswith("trainshed/")
        assert seen.headers["accept"] == "application/json"

    async def test_a_server_may_live_under_a_path(self) -> None:
        async with (
            serving(greet) as stub,
            HttpTransport(Config(f"{stub.server}/k8s/clusters/c1/")) as transport,
        ):
            await transport.send(VERSION)
        assert stub.seen[0].target == "/k8s/clusters/c1/version"

    async def test_a_unix_socket_is_as_good_as_a_port(self, tmp_path: Path) -> None:
        async with serving(greet, socket=tmp_path / "s") as stub, HttpTransport(stub.config()) as transport:
            assert (await transport.send(VERSION)).body == encode({"hello": "/version"})

    async def test_one_connection_serves_many_requests(self) -> None:
        peers = set()

        async def note(request: Seen, wire: Wire) -> None:
            peers.add(wire.writer.get_extra_info("peername"))
            await wire.answer(200, {})

        async with serving(note) as stub, HttpTransport(stub.config()) as transport:
            for _ in range(5):
                await transport.send(VERSION)
        assert len(peers) == 1

    async def test_a_connection_the_server_has_left_is_replaced_unnoticed(self) -> None:
        async def answer_once(request: Seen, wire: Wire) -> None:
            if len(stub.seen) == 2:  # read, but on a connection that ends without a word
                wire.cut()
            else:
                await wire.answer(200, {"asked": len(stub.seen)})

        async with serving(answer_once) as stub, HttpTransport(stub.config()) as transport:
            await transport.send(VERSION)
            assert (await transport.send(VERSION)).body == encode({"asked": 3})

    async def test_what_may_not_be_done_twice_is_not_sent_twice(self) -> None:
        async def answer_once(request: Seen, wire: Wire) -> None:
            if len(stub.seen) == 2:
                wire.cut()
            else:
                await wire.answer(200, {})

        async with serving(answer_once) as stub, HttpTransport(stub.config()) as transport:
            await transport.send(VERSION)
            with pytest.raises(failures.Disconnected):
                await transport.send(requests.raw("/", method="POST", body=b"{}"))
        assert len(stub.seen) == 2

    async def test_an_unread_answer_does_not_reach_the_next_request(self) -> None:
        async def endless(request: Seen, wire: Wire) -> None:
            await wire.begin()
            await wire.chunk(b"more\n")
            await asyncio.Event().wait()

        async def reply(request: Seen, wire: Wire) -> None:
            await (endless if request.path == "/endless" else greet)(request, wire)

        async with serving(reply) as stub, HttpTransport(stub.config()) as transport:
            async with transport.stream(requests.raw("/endless")) as stream:
                assert await anext(stream.lines()) == b"more"
            assert (await transport.send(VERSION)).body == encode({"hello": "/version"})

    @pytest.mark.parametrize(
        ("method", "said", "body"),
        [
            ("GET", b"HTTP/1.1 200 OK\r\n\r\nto the end", b"to the end"),
            ("GET", b"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nit", b"it"),
            ("GET", b"HTTP/1.1 204 Nothing\r\n\r\n", b""),
            ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b""),
            ("GET", b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold", b"old"),
        ],
    )
    async def test_an_answer_ends_where_http_says(self, method: str, said: bytes, body: bytes) -> None:
        async def say(request: Seen, wire: Wire) -> None:
            await wire.send(said)
            wire.writer.close()

        async with serving(say) as stub, HttpTransport(stub.config()) as transport:
            answer = await transport.send(requests.raw("/", method=method))
        assert (200 <= answer.code < 300, answer.body) == (True, body)

    @pytest.mark.parametrize("word", ["a\r\nX: b", "a\nb", "a\0b"])
    async def test_nobody_adds_headers_by_their_values(self, word: str) -> None:
        async with serving(greet) as stub, HttpTransport(stub.config()) as transport:
            with pytest.raises(ValueError, match="line break"):
                await transport.send(Request("GET", "/", (), {"Accept": word}))
        assert not stub.seen

    async def test_large_bodies_arrive_whole(self) -> None:
        body = b"x" * 3_000_000
        async with serving(greet) as stub, HttpTransport(stub.config()) as transport:
            await transport.send(Request("POST", "/", (), {"Content-Type": "application/json"}, body))
        assert stub.seen[0].body == body

    async def test_a_redirect_is_not_followed_with_the_token(self) -> None:
        async def send_away(request: Seen, wire: Wire) -> None:
            await wire.answer(301, {}, Location="http://elsewhere.example.com/")

        async with serving(send_away) as stub, HttpTransport(stub.config(User(token="t"))) as transport:
            assert (await transport.send(VERSION)).code == 301
        assert len(stub.seen) == 1


class TestStreams:
    async def test_lines_are_put_together_from_any_pieces(self) -> None:
        async def dribble(request: Seen, wire: Wire) -> None:
            await wire.begin()
            for piece in (b"o", b"ne\ntwo\nth", b"ree", b"\n\n", b"cut off"):
                await wire.chunk(piece)
            await wire.end()

        async with (
            serving(dribble) as stub,
            HttpTransport(stub.config()) as transport,
            transport.stream(VERSION) as stream,
        ):
            assert [line async for line in stream.lines()] == [b"one", b"two", b"three", b""]

    async def test_a_line_arrives_before_the_stream_ends(self) -> None:
        async def say_one_thing(request: Seen, wire: Wire) -> None:
            await wire.begin()
            await wire.chunk(b"first\n")
            await asyncio.Event().wait()

        async with (
            serving(say_one_thing) as stub,
            HttpTransport(stub.config()) as transport,
            asyncio.timeout(5),
            transport.stream(VERSION) as stream,
        ):
            assert await anext(stream.lines()) == b"first"

    async def test_a_slow_reader_is_not_run_over(self) -> None:
        async def flood(request: Seen, wire: Wire) -> None:
            await wire.begin()
            for _ in range(320):
                await wire.chunk(bytes(65_536))
            await wire.end()

        total = most = 0
        async with (
            serving(flood) as stub,
            HttpTransport(stub.config()) as transport,
            transport.stream(VERSION) as stream,
        ):
            async for piece in stream.chunks():
                total, most = total + len(piece), max(most, len(piece))
                for _ in range(30):
                    await asyncio.sleep(0)
        assert (total, most < 2_000_000) == (320 * 65_536, True)

    async def test_repeated_headers_are_all_kept(self) -> None:
        async def warn(request: Seen, wire: Wire) -> None:
            await wire.send(
                b'HTTP/1.1 200 OK\r\nWarning: 299 - "a"\r\nWarning: 299 - "b"\r\nContent-Length: 0\r\n\r\n'
            )

        async with serving(warn) as stub, HttpTransport(stub.config()) as transport:
            assert (await transport.send(VERSION)).headers["warning"] == ('299 - "a"', '299 - "b"')


class TestTroubles:
    async def test_nobody_there_is_unreachable(self, tmp_path: Path) -> None:
        async with serving(greet) as stub:
            gone = stub.config()
        for config in (gone, Config(f"unix://{tmp_path / 'none'}"), Config("http://none.invalid")):
            async with HttpTransport(config) as transport:
                with pytest.raises(failures.Unreachable, match="cannot be reached") as refused:
                    await transport.send(VERSION)
            assert "\n" not in str(refused.value)
            assert refused.value.__cause__ is not None

    async def test_a_late_answer_is_a_time_out(self) -> None:
        async def never(request: Seen, wire: Wire) -> None:
            await asyncio.Event().wait()

        async with serving(never) as stub, HttpTransport(stub.config()) as transport:
            with pytest.raises(failures.TimedOut, match="did not answer in time"):
                await transport.send(VERSION, 0.05)

    async def test_a_stream_that_lasts_too_long_is_a_time_out(self) -> None:
        async def trickle(request: Seen, wire: Wire) -> None:
            await wire.begin()
            await wire.chunk(b"first")
            await asyncio.Event().wait()

        async def listen(transport: HttpTransport) -> None:
            async with transport.stream(VERSION, 0.3) as stream:
                async for _ in stream.chunks():
                    pass

        async with serving(trickle) as stub, HttpTransport(stub.config()) as transport:
            with pytest.raises(failures.TimedOut, match="did not answer in time"):
                await listen(transport)

    @pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
    async def test_an_answer_cut_short_is_a_disconnection(self, said: bytes) -> None:
        async def hang_up(request: Seen, wire: Wire) -> None:
            await wire.send(said)
            wire.writer.close()

        async with serving(hang_up) as stub, HttpTransport(stub.config()) as transport:
            with pytest.raises(failures.Disconnected):
                await transport.send(requests.raw("/", method="POST", body=b"{}"))

    async def test_what_is_not_http_is_garbled(self) -> None:
        async def mumble(request: Seen, wire: Wire) -> None:
            await wire.send(b"220 mail.example.com ESMTP\r\n\r\n")

        async with serving(mumble) as stub, HttpTransport(stub.config()) as transport:
            with pytest.raises(failures.Garbled, match="did not answer in HTTP"):
                await transport.send(VERSION)


@pytest.fixture(scope="module")
def certificate() -> tuple[bytes, bytes]:
    """A certificate for 127.0.0.1 and stub.example.com that is its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stub")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("stub.example.com"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    return made.public_bytes(form), key.private_bytes(form, serialization.PrivateFormat.PKCS8, plain)


@pytest.fixture
def server_tls(certificate: tuple[bytes, bytes], tmp_path: Path) -> ssl.SSLContext:
    (tmp_path / "pair.pem").write_bytes(b"".join(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pair.pem")
    return context


class TestTls:
    async def test_a_server_of_the_given_authority_is_trusted(
        self, certificate: tuple[bytes, bytes], server_tls: ssl.SSLContext
    ) -> None:
        async with serving(greet, tls=server_tls) as stub:
            for name in ("", "stub.example.com"):
                async with HttpTransport(stub.config(authority=certificate[0], tls_name=name)) as transport:
                    assert (await transport.send(VERSION)).code == 200

    async def test_any_other_server_is_not(
        self, certificate: tuple[bytes, bytes], server_tls: ssl.SSLContext
    ) -> None:
        async with serving(greet, tls=server_tls) as stub:
            for config in (
                stub.config(),
                stub.config(authority=certificate[0], tls_name="other.example.com"),
            ):
                async with HttpTransport(config) as transport:
                    with pytest.raises(failures.TlsRefused, match="does not have a trusted certificate"):
                        await transport.send(VERSION)

    async def test_verification_can_be_switched_off(self, server_tls: ssl.SSLContext) -> None:
        async with (
            serving(greet, tls=server_tls) as stub,
            HttpTransport(Config(stub.server, insecure=True)) as transport,
        ):
            assert (await transport.send(VERSION)).code == 200

    async def test_a_client_certificate_is_shown(
        self, certificate: tuple[bytes, bytes], server_tls: ssl.SSLContext
    ) -> None:
        shown = []

        async def look(request: Seen, wire: Wire) -> None:
            shown.append(dict(wire.writer.get_extra_info("peercert")["subject"][0]))
            await wire.answer(200, {})

        server_tls.verify_mode = ssl.CERT_REQUIRED
        server_tls.load_verify_locations(cadata=certificate[0].decode())
        user = User(certificate=certificate[0], key=certificate[1])
        async with (
            serving(look, tls=server_tls) as stub,
            HttpTransport(stub.config(user, certificate[0])) as transport,
        ):
            await transport.send(VERSION)
        assert shown == [{"commonName": "stub"}]

    @pytest.mark.parametrize("broken", [b"nonsense", b"\xff"])
    async def test_a_broken_certificate_is_a_matter_of_configuration(self, broken: bytes) -> None:
        for config in (
            Config("https://127.0.0.1:1", authority=broken),
            Config("https://127.0.0.1:1", user=User(certificate=broken, key=broken)),
        ):
            async with HttpTransport(config) as transport:
                with pytest.raises(failures.BadConfig, match=r"the certificates for .* cannot be used"):
                    await transport.send(VERSION)
