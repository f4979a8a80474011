"""`trainshed operator`: controllers for a cluster that lacks them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from trainshed.cli.options import Verbose
from trainshed.compose import logs
from trainshed.compose.trouble import WRONG_USAGE, Trouble

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="<file>",
        help="How to reach the cluster.",
        show_default="KUBECONFIG, else ~/.kube/config",
    ),
]
Controllers = Annotated[
    str,
    typer.Option(
        metavar="<names>",
        help="Which ones, with commas: trainjob, jobset, v1jobs, job, scheduler, claims, podgc, nodehealth.",
    ),
]
LeaseNamespace = Annotated[
    str,
    typer.Option(
        metavar="<name>",
        help="Where the Lease is kept by which one of several operators leads.",
        show_default="the kubeconfig's namespace",
    ),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        metavar="<port>",
        min=1,
        max=65535,
        help="Tell Prometheus what the controllers do, at /metrics.",
        show_default="nowhere",
    ),
]


def operator(
    kubeconfig: Kubeconfig = None,
    controllers: Controllers = "trainjob,jobset",
    lease_namespace: LeaseNamespace = "",
    metrics_port: MetricsPort = None,
    verbose: Verbose = False,
) -> None:
    """Run controllers against a cluster, until Ctrl-C."""
    # Imported here: no other command needs the controllers.
    from trainshed.compose import standalone

    names = [name.strip() for name in controllers.split(",") if name.strip()]
    if not names:
        raise Trouble("--controllers names none", "the usual ones are trainjob,jobset", WRONG_USAGE)
    logs.begin(logging.DEBUG if verbose else logging.INFO)
    cluster = standalone.Cluster(kubeconfig, lease_namespace, metrics_port)
    listed = ", ".join(names)
    standalone.run(cluster, names, lambda url: print(f"Controllers ready ({listed}) for {url}.", flush=True))
