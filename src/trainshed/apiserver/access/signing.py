"""The key that signs service-account tokens: ES256, made once, in the data folder.

`jwt` and `cryptography` are imported on first use: most starts never see such a token.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from trainshed.apiserver.access import privatefiles
from trainshed.kube.objects import Object, decode

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

ALGORITHM = "ES256"
_LONGEST = 16 * 1024


class BrokenKey(Exception):
    """The signing key's file cannot be used: why, and what to do about it."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what, self.hint = what, hint


class BadSignature(Exception):
    """Not a token we signed."""


class SigningKey:
    def __init__(self, path: Path) -> None:
        self._path = path

    def sign(self, claims: Object) -> str:
        import jwt

        return jwt.encode(claims, self._key, algorithm=ALGORITHM, headers={"kid": self.key_id})

    def verify(self, token: str) -> Object:
        """The claims of a token we signed; what they say is the caller's to check."""
        if len(token) > _LONGEST or token.count(".") != 2:
            raise BadSignature("not a token")
        import jwt

        try:
            body = jwt.PyJWS().decode(token, self._key.public_key(), algorithms=[ALGORITHM])
            claims = decode(body)
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            raise BadSignature(str(error)) from error
        if not isinstance(claims, dict):
            raise BadSignature("the claims are not an object")
        return claims

    @functools.cached_property
    def _key(self) -> EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        if not self._path.exists():
            made = ec.generate_private_key(ec.SECP256R1())
            pem = made.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            privatefiles.write(self._path, pem)
            return made
        try:
            found = serialization.load_pem_private_key(self._path.read_bytes(), None)
        except (ValueError, TypeError) as error:
            raise self._broken("it is damaged") from error
        if not isinstance(found, ec.EllipticCurvePrivateKey) or found.curve.name != "secp256r1":
            raise self._broken("it is not an EC P-256 key")
        return found

    def _broken(self, why: str) -> BrokenKey:
        return BrokenKey(
            f"the signing key {self._path} cannot be used ({why})",
            "restore it, or remove it to have a new one made (all service-account tokens end then)",
        )

    @functools.cached_property
    def key_id(self) -> str:
        from cryptography.hazmat.primitives import serialization

        form = serialization.PublicFormat.SubjectPublicKeyInfo
        der = self._key.public_key().public_bytes(serialization.Encoding.DER, form)
        return _base64url(hashlib.sha256(der).digest())

    def jwks(self) -> Object:
        """The public key as `/openid/v1/jwks` serves it."""
        numbers = self._key.public_key().public_numbers()
        point = {
            "x": _base64url(numbers.x.to_bytes(32, "big")),
            "y": _base64url(numbers.y.to_bytes(32, "big")),
        }
        key = {"use": "sig", "kty": "EC", "kid": self.key_id, "crv": "P-256", "alg": ALGORITHM, **point}
        return {"keys": [key]}


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
