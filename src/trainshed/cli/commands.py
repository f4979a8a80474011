"""The commands, and how every way one can end becomes an exit code and at most one line."""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import sys
from collections.abc import Callable, Sequence

import typer

from trainshed.cli import (
    apply,
    changes,
    convert,
    describe,
    doctor,
    down,
    events,
    get,
    invocation,
    joblogs,
    kubeconfig,
    operator,
    preview,
    runtimes,
    serve,
    status,
    token,
    up,
    url,
    version,
)
from trainshed.cli import (
    run as running,
)
from trainshed.cli.options import is_verbose
from trainshed.compose.trouble import FAILED, WRONG_USAGE, Trouble

INTERRUPTED = 130
_OUTPUT_LOST = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="trainshed",
    help="Run Kubeflow training jobs on one machine without Kubernetes, and on a cluster without changes.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "run": running.run,
    "apply": apply.apply,
    "get": get.get,
    "describe": describe.describe,
    "logs": joblogs.logs,
    "events": events.events,
    "suspend": changes.suspend,
    "resume": changes.resume,
    "delete": changes.delete,
    "runtimes": runtimes.runtimes,
    "preview": preview.preview,
    "convert": convert.convert,
    "up": up.up,
    "down": down.down,
    "status": status.status,
    "kubeconfig": kubeconfig.kubeconfig,
    "operator": operator.operator,
    "serve": serve.serve,
    "token": token.token,
    "url": url.url,
    "doctor": doctor.doctor,
    "version": version.version,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


@app.callback()
def _options(context: typer.Context, show_version: version.ShowVersion = False) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit(WRONG_USAGE)


def run(arguments: Sequence[str]) -> int:
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read our output has had enough (`trainshed status | head -1`).
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        return _failed(f"cannot write the output ({error.strerror or error})", "", FAILED)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    try:
        return int(app(args=arguments, prog_name=invocation.program(), standalone_mode=False) or 0)
    except typer.TyperException as error:
        return _wrong_usage(error, arguments)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except typer.Exit as error:
        return error.exit_code
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer makes this of it
            raise error.__context__ from None
        return error.code if isinstance(error.code, int) else FAILED
    except Trouble as error:
        return _failed(error.message, error.hint, error.code)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OUTPUT_LOST and not error.filename:
            raise
        hint = "" if is_verbose() else "run it again with -v for details, and report it"
        return _failed(f"unexpected {type(error).__name__}: {error}", hint, FAILED)


def _drop_output() -> None:
    """Nothing more can be written: let Python's last flush at its end not fail over it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _wrong_usage(error: typer.TyperException, arguments: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    if context is not None:
        command = context.command_path
    else:
        named = next((word for word in arguments if word in COMMANDS), "")
        command = f"{invocation.program()} {named}".rstrip()
    message = error.format_message().replace("Value error, ", "")  # how newer versions of typer begin
    if hint := _scripts_own(error, arguments):
        return _failed(f"No such option: {getattr(error, 'option_name', '')}", hint, error.exit_code)
    return _failed(message, f"see {command} --help", error.exit_code)


def _scripts_own(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Where the option of a script belongs, if `run` was given one that is like none of its own."""
    option, context = str(getattr(error, "option_name", "")), getattr(error, "ctx", None)
    words = list(arguments)
    at = next((index for index, word in enumerate(words) if word.partition("=")[0] == option), None)
    if context is None or context.info_name != "run" or at is None or "--" in words:
        return ""
    ours = [name.lstrip("-") for name in getattr(error, "possibilities", None) or ()]
    if difflib.get_close_matches(option.lstrip("-"), ours, cutoff=0.7):
        return ""
    typed = shlex.join([*words[:at], "--", *words[at:]])
    return f"put the script's own arguments after --: {invocation.program()} {typed}"


def _failed(message: str, hint: str, code: int) -> int:
    if is_verbose():
        import traceback

        traceback.print_exc()
    said = " ".join(message.split()).rstrip(".")
    hinted = f" Hint: {invocation.completed(hint)}." if hint else ""
    print(f"Error: {said}{'' if said.endswith('?') else '.'}{hinted}", file=sys.stderr)
    return code
