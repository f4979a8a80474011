"""Keys for the launcher of an MPI job: ECDSA on P-521, as upstream makes them."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from trainshed.controllers.trainjob.plugins import mpi
from trainshed.kube.objects import Object


def generated() -> Object:
    """A new pair, as a Secret holds it."""
    key = ec.generate_private_key(ec.SECP521R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return mpi.ssh_data(private.decode(), f"{public.decode()}\n")
