"""`trainshed serve`: the REST backend in front of any cluster."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from trainshed.cli.options import Verbose
from trainshed.cli.up import Port
from trainshed.compose import listening, logs
from trainshed.compose.trouble import WRONG_USAGE, Trouble

DEFAULT_PORT = 8000
# Not refused: in a cluster, whatever stands in front of the Service may be what encrypts.
_UNENCRYPTED = (
    "warning: tokens travel unencrypted to {}: give --cert and --key,"
    " or put something that speaks HTTPS before it"
)

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="<file>",
        help="How to reach the cluster.",
        show_default="KUBECONFIG, else ~/.kube/config, else the pod's service account",
    ),
]
Context = Annotated[
    str, typer.Option(metavar="<name>", help="Context in that kubeconfig.", show_default=False)
]
Bind = Annotated[str, typer.Option(metavar="<address>", help="Address to listen on.")]
ServePort = Annotated[
    int | None,
    typer.Option(
        metavar="<number>",
        parser=Port.__metadata__[0].parser,
        help="Port to listen on; 0 for any free one.",
        show_default=str(DEFAULT_PORT),
    ),
]
Cert = Annotated[Path | None, typer.Option(metavar="<file>", help="Certificate chain in PEM: serve HTTPS.")]
Key = Annotated[Path | None, typer.Option(metavar="<file>", help="The certificate's key in PEM.")]
Config = Annotated[
    Path | None, typer.Option(metavar="<file>", help="Settings in TOML; the table [backend] counts.")
]
Data = Annotated[
    Path | None, typer.Option(metavar="<folder>", help="Where the history of finished jobs is kept.")
]


def serve(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    bind: Bind = listening.HOST,
    port: ServePort = None,  # not the number: a parser is given the default too, and expects a text
    cert: Cert = None,
    key: Key = None,
    config: Config = None,
    data: Data = None,
    verbose: Verbose = False,
) -> None:
    """Serve the REST API for a cluster, until Ctrl-C."""
    # Imported here: no other command needs the web framework.
    from trainshed.backend.serving import Certificate
    from trainshed.compose import backends

    if (cert is None) != (key is None):
        raise Trouble("--cert and --key belong together", "give both or none", WRONG_USAGE)
    logs.begin(logging.DEBUG if verbose else logging.INFO)
    certificate = Certificate(cert, key) if cert and key else None
    port = DEFAULT_PORT if port is None else port
    host = listening.host(bind)
    if certificate is None and not listening.is_loopback(host):
        print(_UNENCRYPTED.format(host), file=sys.stderr, flush=True)
    wish = backends.Wish(kubeconfig, context, host, port, certificate, config, data)
    backends.run(wish, _tell)


def _tell(address: str, cluster: str) -> None:
    print(f"Serving {address} for {cluster}; see {address}/docs.", flush=True)
