"""TLS settings of a configuration: whom to trust, and the certificate to show."""

from __future__ import annotations

import os
import ssl
import tempfile

from trainshed.client import failures
from trainshed.client.credentials import Proof
from trainshed.client.kubeconfig import Config


def context(config: Config, proof: Proof) -> ssl.SSLContext:
    try:
        # Without an authority of its own the system's are read, which takes longer than many a command.
        made = ssl.create_default_context(cadata=config.authority.decode() or None)
        if config.insecure:
            made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        if proof.certificate:
            _load_pair(made, proof)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as broken:
        raise failures.BadConfig(f"the certificates for {config.server} cannot be used: {broken}") from broken
    return made


def _load_pair(made: ssl.SSLContext, proof: Proof) -> None:
    """OpenSSL reads a certificate only from a file: give it one only we can read, and remove it at once."""
    descriptor, path = tempfile.mkstemp(prefix="trainshed-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(proof.certificate.rstrip() + b"\n" + proof.key)
        made.load_cert_chain(path)
    finally:
        os.unlink(path)
