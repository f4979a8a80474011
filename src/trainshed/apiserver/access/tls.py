"""A private certificate authority and the server certificate it signs, kept in one folder.

The authority stays as long as it is good: kubeconfigs carry it. The server certificate is renewed before it
ends and whenever the server answers to other names. A stamp beside it lets a start skip `cryptography`,
which takes longer to import than the rest of the start-up's work on certificates.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from trainshed.apiserver.access import privatefiles

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

AUTHORITY_DAYS = 3650
SERVER_DAYS = 397
RENEW_BEFORE = timedelta(days=30)

PODS_DOOR = "10.244.0.1"
"""Where sandboxed pods of this machine find the server; the node agent leads from there to us."""
_ALWAYS = ("127.0.0.1", "::1", PODS_DOOR, "localhost", "kubernetes", "kubernetes.default",
           "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")  # fmt: skip
_UNSPECIFIED = frozenset(("", "0.0.0.0", "::"))


class BrokenCertificates(Exception):
    """The folder holds certificates that cannot be used: which, and what to do about it."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what, self.hint = what, hint


@dataclass(frozen=True, slots=True)
class Certificates:
    authority: Path
    certificate: Path
    key: Path

    def authority_pem(self) -> bytes:
        return self.authority.read_bytes()


def server_names(bind: str, hostname: str, own: Sequence[str] = ()) -> tuple[str, ...]:
    """Every name and address the server certificate must answer to.

    `own` are the machine's addresses, which count where it listens on all of them.
    """
    extra = [hostname, bind, *(own if bind in _UNSPECIFIED else ())]
    extra = [name for name in extra if name not in _UNSPECIFIED]
    return tuple(dict.fromkeys((*_ALWAYS, *(name.lower() for name in extra if len(name) <= 253))))


def ensure(folder: Path, names: Sequence[str], now: datetime) -> Certificates:
    """The certificates, made or renewed where needed. Raises `OSError` or `BrokenCertificates`."""
    made = Certificates(folder / "ca.crt", folder / "server.crt", folder / "server.key")
    if not _is_fresh(made, folder / "stamp.json", names, now):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _renew(made, names, now)
    return made


def _is_fresh(made: Certificates, stamp: Path, names: Sequence[str], now: datetime) -> bool:
    try:
        noted = json.loads(stamp.read_bytes())
        return bool(
            noted["names"] == list(names)
            and now < datetime.fromisoformat(noted["renew_after"])
            and noted["digest"] == _digest(made)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _digest(made: Certificates) -> str:
    # Covers the files themselves, so a restored or edited certificate is noticed.
    parts = (made.authority.read_bytes(), made.certificate.read_bytes(), made.key.read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _renew(made: Certificates, names: Sequence[str], now: datetime) -> None:
    from cryptography.hazmat.primitives import serialization

    authority, signer = _authority(made.authority, made.authority.with_name("ca.key"), now)
    key = _new_key()
    certificate = _sign_server(authority, signer, key, names, now)
    privatefiles.write(made.key, _key_pem(key))
    privatefiles.write(made.certificate, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    renew_after = min(certificate.not_valid_after_utc, authority.not_valid_after_utc) - RENEW_BEFORE
    stamp = {"names": list(names), "renew_after": renew_after.isoformat(), "digest": _digest(made)}
    privatefiles.write(made.authority.with_name("stamp.json"), json.dumps(stamp, indent=1).encode())


def _authority(
    certificate: Path, key: Path, now: datetime
) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    if not certificate.exists():
        return _new_authority(certificate, key, now)
    found, signer = _read_authority(certificate, key)
    if found.not_valid_after_utc - RENEW_BEFORE <= now:
        return _new_authority(certificate, key, now)
    return found, signer


def _read_authority(certificate: Path, key: Path) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
        signer = serialization.load_pem_private_key(key.read_bytes(), None)
    except FileNotFoundError as error:
        raise _broken(certificate, "ca.key is missing") from error
    except (ValueError, TypeError) as error:  # the library's own words would lead people astray
        raise _broken(certificate, "ca.crt or ca.key is damaged") from error
    if not isinstance(signer, ec.EllipticCurvePrivateKey) or signer.public_key() != found.public_key():
        raise _broken(certificate, "certificate and key do not belong together")
    return found, signer


def _broken(certificate: Path, why: str) -> BrokenCertificates:
    return BrokenCertificates(
        f"the certificate authority in {certificate.parent} cannot be used ({why})",
        "restore it from a backup, or remove ca.crt and ca.key there to have a new one made",
    )


def _new_authority(
    path: Path, key_path: Path, now: datetime
) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    key = _new_key()
    subject = _subject("trainshed-ca")
    certificate = (
        _builder(subject, subject, key, now, AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    # Key first: a certificate without its key would look like a broken authority after a crash.
    privatefiles.write(key_path, _key_pem(key))
    privatefiles.write(path, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return certificate, key


def _sign_server(
    authority: x509.Certificate,
    signer: EllipticCurvePrivateKey,
    key: EllipticCurvePrivateKey,
    names: Iterable[str],
    now: datetime,
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    return (
        _builder(_subject("trainshed"), authority.subject, key, now, SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, hashes.SHA256())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=days))
    )


def _subject(common_name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _key_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
