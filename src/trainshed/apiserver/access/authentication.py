"""From a bearer token to an identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainshed.apiserver.access import impersonation
from trainshed.apiserver.access.identity import ADMIN_USER, AUTHENTICATED, MASTERS, Identity
from trainshed.apiserver.access.rbac import Authorizer
from trainshed.apiserver.access.tokens import ISSUER, AccountTokens, Rejected

ADMIN = Identity(ADMIN_USER, groups=(MASTERS, AUTHENTICATED))


class Authenticator:
    def __init__(self, admin_token: str, accounts: AccountTokens, authorizer: Authorizer) -> None:
        self._accounts, self._authorizer = accounts, authorizer
        # Looking a secret up in a dict leaks nothing by its timing: bytes are hashed with a random key first.
        self._static = {admin_token: ADMIN}
        self._static_headers = {f"Bearer {admin_token}".encode(): ADMIN}

    def authenticate(self, headers: Mapping[bytes, bytes]) -> Identity | None:
        """Who sent these headers; None without a good token. Impersonation of one group at most: a mapping
        cannot repeat a header, use `identify` for requests as they arrive. Raises `Fault` like it."""
        return self.identify(tuple(headers.items()))

    def identify(self, headers: Sequence[tuple[bytes, bytes]]) -> Identity | None:
        """The same for headers as they arrive; raises `Forbidden` or `BadRequest` on impersonation."""
        credentials: bytes | None = None
        impersonates = False
        for name, value in headers:
            if name == b"authorization":
                # Of several the first, as Go does.
                credentials = value if credentials is None else credentials
            elif name.startswith(impersonation.PREFIX):
                impersonates = True
        credentials = credentials or b""
        identity = self._static_headers.get(credentials) or self._from_header(credentials)
        if identity is not None and impersonates:
            return impersonation.assume(identity, headers, self._authorizer)
        return identity

    def review(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> tuple[Identity, tuple[str, ...]]:
        """Identity and audiences of a token as a TokenReview wants them; raises `Rejected`."""
        static = self._static.get(token)
        if static is None:
            return self._accounts.verify(token, audiences)
        if ISSUER not in audiences:
            raise Rejected("the token is good for the API server only")
        return static, (ISSUER,)

    def _from_header(self, credentials: bytes) -> Identity | None:
        scheme, _, token = credentials.strip().partition(b" ")
        if scheme.lower() != b"bearer":
            return None
        try:
            return self.review(token.strip().decode("ascii"))[0]
        except (Rejected, UnicodeDecodeError):
            return None
