"""`trainshed doctor`: what this machine can do, and how to get what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from trainshed.cli import invocation, output
from trainshed.cli.options import DataDir, Format, Output, Verbose, folder_of
from trainshed.compose.trouble import FAILED

if TYPE_CHECKING:
    from trainshed.compose.findings import Finding

_COLOURS = {"ok": "green", "limited": "yellow", "missing": "red"}


def doctor(data_dir: DataDir = None, form: Output = Format.table, verbose: Verbose = False) -> None:
    """Check what this machine can do; 1 if essentials are missing."""
    # Imported here: the checks look at many corners of the machine, and only this command needs them.
    from trainshed.compose import machine

    found = machine.examine(folder_of(data_dir))
    findings = [replace(finding, fix=invocation.completed(finding.fix)) for finding in found]
    if form is Format.table:
        _print(findings)
    else:
        body = {"healthy": machine.is_healthy(findings), "checks": [finding.body() for finding in findings]}
        print(output.document(body, form))
    if not machine.is_healthy(findings):
        raise typer.Exit(FAILED)


def _print(findings: list[Finding]) -> None:
    output.table(
        ("check", "state", "found"),
        [(finding.name, finding.state, finding.found) for finding in findings],
        _COLOURS,
    )
    for finding in findings:
        if finding.state != "ok":
            fix = f" Fix: {finding.fix}." if finding.fix else ""
            print(f"{finding.name}: {finding.meaning}.{fix}")
