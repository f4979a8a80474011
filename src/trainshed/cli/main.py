"""The command line's entry: the commands, and how every failure becomes one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from trainshed.cli import doctor, down, kubeconfig, status, up, version
from trainshed.cli.options import is_verbose
from trainshed.compose.trouble import FAILED, Trouble

USAGE, INTERRUPTED = 2, 130

app = typer.Typer(
    name="trainshed",
    help="Run Kubeflow training jobs on one machine without Kubernetes, and on a cluster without changes.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("up")(up.up)
app.command("down")(down.down)
app.command("status")(status.status)
app.command("kubeconfig")(kubeconfig.kubeconfig)
app.command("doctor")(doctor.doctor)
app.command("version")(version.version)


@app.callback()
def _options(context: typer.Context, show_version: version.ShowVersion = False) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code: 0 done, 1 failed, 2 wrong usage, 3 could not start or reach."""
    try:
        return int(app(args=arguments, prog_name="trainshed", standalone_mode=False) or 0)
    except typer.TyperException as error:
        return _wrong_usage(error)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has had enough (`trainshed status | head -1`).
        sys.stderr.close()
        return 0
    except Trouble as error:
        return _failed(error.message, error.hint, error.code)
    except Exception as error:
        hint = "" if is_verbose() else "run it again with -v for details, and report it"
        return _failed(f"unexpected {type(error).__name__}: {error}", hint, FAILED)


def _wrong_usage(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "trainshed"
    return _failed(error.format_message(), f"see {command} --help", error.exit_code)


def _failed(message: str, hint: str, code: int) -> int:
    if is_verbose():
        import traceback

        traceback.print_exc()
    hinted = f" Hint: {hint}." if hint else ""
    print(f"Error: {' '.join(message.split()).rstrip('.')}.{hinted}", file=sys.stderr)
    return code
