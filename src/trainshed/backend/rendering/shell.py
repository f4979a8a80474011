"""What a job's main container runs: preparation, then the user's command, as one `bash -c`.

What users give reaches the shell as the text of their own command, quoted, or not at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from trainshed.backend.rendering.frameworks import FRAMEWORKS, Framework
from trainshed.backend.rendering.literal import unexpanded, untemplated
from trainshed.backend.rendering.wanted import Files, Git, Wanted
from trainshed.jobs import bundle

CODE_FOLDER = "/workspace/scripts"
CLONE_SCRIPT = "/workspace/git/git_clone.sh"
CLONE_ENV = ("GIT_SYNC_REPO", "GIT_SYNC_BRANCH", "GIT_SYNC_ROOT")
CLONING_RUNTIMES = ("pytorch-runtime", "tensorflow-runtime")
"""Those with an init container that clones."""
TF_CONFIG_RUNTIME = "tensorflow-runtime"
"""Its init container leaves TF_CONFIG in a file."""
_OWN_LAUNCHER = re.compile(
    r"\b(torchrun|torch\.distributed\.(run|launch)|accelerate|deepspeed|mpirun|horovodrun)\b"
)


def command(wanted: Wanted) -> list[str]:
    """The trainer's command; the kubelet finds nothing in it to replace."""
    lines = [*_set_up(wanted), *_get_code(wanted), *_start(wanted)]
    return ["bash", "-c", unexpanded("\n".join(lines))]


def framework(wanted: Wanted) -> Framework:
    return FRAMEWORKS[wanted.framework]


def clones_itself(wanted: Wanted) -> bool:
    """Whether the code has to be cloned by the command, because no init container does."""
    return isinstance(wanted.code, Git) and wanted.runtime not in CLONING_RUNTIMES


def _set_up(wanted: Wanted) -> Iterator[str]:
    script = framework(wanted).script
    if wanted.runtime == TF_CONFIG_RUNTIME and wanted.framework == "tensorflow":
        yield "source /shared-env/tf_config.env || exit 1"
    elif script is not None:
        yield f"source {script.path} || exit 1"


def _get_code(wanted: Wanted) -> Iterator[str]:
    """Leaves the program in a folder where its files are and, where that can be, where it may write."""
    is_launched = framework(wanted).is_launched
    match wanted.code:
        case Git(subfolder=subfolder):
            if clones_itself(wanted):
                yield f"bash {CLONE_SCRIPT} || exit 1"
                if is_launched:
                    told = " ".join(f"-x {name}" for name in CLONE_ENV)
                    yield f"mpirun --map-by ppr:1:node {told} bash {CLONE_SCRIPT} || exit 1"
            yield f"cd {shlex.quote(f'{CODE_FOLDER}/{subfolder}'.rstrip('/'))} || exit 1"
        case Files() if is_launched:
            # mpirun starts its processes in the same folder on every node.
            yield f"cd {CODE_FOLDER} || exit 1"
        case Files():
            yield f'cd "$(mktemp -d)" && {bundle.copied(CODE_FOLDER, ".")} || exit 1'


def _start(wanted: Wanted) -> Iterator[str]:
    if isinstance(wanted.command, str) and wanted.command:
        yield from _start_text(wanted, wanted.command)
    else:
        yield f"exec {shlex.join([*_launcher(wanted), *_words(wanted)])}"


def _start_text(wanted: Wanted, text: str) -> Iterator[str]:
    if _is_many(wanted) and not _OWN_LAUNCHER.search(text):
        yield f"exec torchrun --no-python bash -c {shlex.quote(untemplated(text))}"
    else:
        yield text


def _launcher(wanted: Wanted) -> list[str]:
    """What starts the words of a program, on all nodes where the framework has one launcher."""
    given = " ".join(wanted.command)
    if given and _OWN_LAUNCHER.search(given):
        return []
    found = list(framework(wanted).launcher)
    if found:
        # Processes on other nodes do not inherit this one's variables.
        found += [word for name, _ in wanted.env for word in ("-x", name)]
    elif _is_many(wanted):
        found = ["torchrun", *(["--no-python"] if wanted.command else [])]
    return found


def _words(wanted: Wanted) -> list[str]:
    by_torchrun = _launcher(wanted)[:1] == ["torchrun"]
    program = [] if by_torchrun else [framework(wanted).python]
    words = [*(wanted.command or [*program, _script(wanted)]), *wanted.arguments]
    if not by_torchrun:
        return words
    as_it_is = 1 if wanted.command else 0  # torchrun looks for templates in all but a program's name
    return [*words[:as_it_is], *map(untemplated, words[as_it_is:])]


def _script(wanted: Wanted) -> str:
    match wanted.code:
        case Files(start=start):
            return start
        case Git():
            return "train.py"
    return f"{CODE_FOLDER}/train.py"


def _is_many(wanted: Wanted) -> bool:
    """Whether torchrun has to start several processes on a node."""
    return wanted.framework == "pytorch" and (wanted.processes or 1) > 1
