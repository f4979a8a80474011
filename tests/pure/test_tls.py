from __future__ import annotations

import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509 import verification

from trainshed.apiserver.access import kubeconfig, privatefiles, tls

NOW = datetime.now(UTC)
NAMES = tls.server_names("0.0.0.0", "Workstation")


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_the_server_answers_to_loopback_kubernetes_and_its_host_name() -> None:
    assert set(NAMES) >= {
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default.svc",
        "workstation",
    }
    assert "0.0.0.0" not in NAMES
    assert "10.1.2.3" in tls.server_names("10.1.2.3", "w")


def test_a_server_on_every_interface_answers_to_all_its_addresses() -> None:
    assert {"10.1.2.3", "fd00::7"} <= set(tls.server_names("0.0.0.0", "w", ("10.1.2.3", "fd00::7")))
    assert "10.1.2.3" not in tls.server_names("127.0.0.1", "w", ("10.1.2.3",))


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc", "workstation"])
def test_a_strict_client_trusts_the_server_under_all_its_names(tmp_path: Path, name: str) -> None:
    made = tls.ensure(tmp_path, NAMES, NOW)
    store = verification.Store([certificate(made.authority)])
    general = tls._general_name(name)
    assert isinstance(general, x509.DNSName | x509.IPAddress)
    verifier = verification.PolicyBuilder().store(store).time(NOW).build_server_verifier(general)
    assert len(verifier.verify(certificate(made.certificate), [])) == 2


def test_openssl_accepts_key_and_certificate(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, NAMES, NOW)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made.certificate, made.key)
    assert made.key.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "ca.key").stat().st_mode & 0o777 == 0o600


def test_certificates_are_kept_while_they_are_good(tmp_path: Path) -> None:
    before = [path.read_bytes() for path in sorted(tls.ensure(tmp_path, NAMES, NOW).key.parent.iterdir())]
    tls.ensure(tmp_path, NAMES, NOW + timedelta(days=300))
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before


@pytest.mark.parametrize(
    ("names", "later"), [(NAMES, timedelta(days=370)), ((*NAMES, "example.org"), timedelta())]
)
def test_near_its_end_or_under_new_names_only_the_server_certificate_changes(
    tmp_path: Path, names: tuple[str, ...], later: timedelta
) -> None:
    made = tls.ensure(tmp_path, NAMES, NOW)
    authority, server = made.authority.read_bytes(), made.certificate.read_bytes()
    tls.ensure(tmp_path, names, NOW + later)
    assert made.authority.read_bytes() == authority
    assert made.certificate.read_bytes() != server


def test_a_tampered_server_certificate_is_replaced(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, NAMES, NOW)
    made.key.write_bytes(b"")
    tls.ensure(tmp_path, NAMES, NOW)
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made.certificate, made.key)


def test_a_broken_authority_is_named_and_never_overwritten(tmp_path: Path) -> None:
    made = tls.ensure(tmp_path, NAMES, NOW)
    (tmp_path / "ca.key").unlink()
    made.certificate.unlink()
    with pytest.raises(tls.BrokenCertificates, match="restore it from a backup"):
        tls.ensure(tmp_path, NAMES, NOW)
    assert made.authority.exists()


def test_the_kubeconfig_carries_server_authority_and_token(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    kubeconfig.write(path, "https://127.0.0.1:6443", b"PEM", "secret-token")
    read = yaml.safe_load(path.read_text())
    assert path.stat().st_mode & 0o777 == 0o600
    assert read["current-context"] == read["contexts"][0]["name"] == "trainshed"
    assert read["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(read["clusters"][0]["cluster"]["certificate-authority-data"]) == b"PEM"
    assert read["users"][0]["user"]["token"] == "secret-token"


@pytest.mark.parametrize(
    ("bind", "url"),
    [("0.0.0.0", "https://127.0.0.1:1"), ("::", "https://[::1]:1"), ("10.0.0.1", "https://10.0.0.1:1")],
)
def test_clients_reach_a_server_bound_to_everything_by_loopback(bind: str, url: str) -> None:
    assert kubeconfig.server_url(bind, 1) == url


def test_a_failed_write_leaves_the_old_file_and_no_leftovers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    privatefiles.write(path, b"old")
    with pytest.raises(TypeError):
        privatefiles.write(path, "not bytes")  # type: ignore[arg-type]
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("file", b"old")]


def test_an_unchanged_file_only_gets_its_mode_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert privatefiles.write_if_changed(path, b"x")
    path.chmod(0o644)
    assert not privatefiles.write_if_changed(path, b"x")
    assert path.stat().st_mode & 0o777 == 0o600
