"""What can go wrong before there is an answer; what the server itself refuses is a `kube.faults.Fault`.

    Failure
    ├── BadConfig         the kubeconfig cannot be used
    ├── NoCredentials     a token file or an exec plugin gave nothing usable
    ├── UnknownKind       the server's discovery does not list what was asked for
    └── ConnectionFailure
        ├── Unreachable   nobody answered; the request was never sent
        ├── TlsRefused    the handshake failed; the request was never sent
        ├── TimedOut      the request was sent, the answer did not come in time
        ├── Disconnected  the connection ended before the answer did
        └── Garbled       what came back is not HTTP

Every message is one line meant for a person; the foreign error it came from is chained.
"""

from __future__ import annotations


class Failure(Exception):
    pass


class BadConfig(Failure):
    pass


class NoCredentials(Failure):
    pass


class UnknownKind(Failure):
    pass


class ConnectionFailure(Failure):
    pass


class Unreachable(ConnectionFailure):
    pass


class TlsRefused(ConnectionFailure):
    pass


class TimedOut(ConnectionFailure):
    pass


class Disconnected(ConnectionFailure):
    pass


class Garbled(ConnectionFailure):
    pass
