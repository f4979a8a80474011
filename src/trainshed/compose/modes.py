"""How a Trainshed works at present, in words: who runs pods, whether requests count, which file says so."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainshed.compose import settings
from trainshed.compose.datafolder import DataFolder
from trainshed.compose.parts import AGENT, OPERATOR, PartName
from trainshed.compose.settings import Choices
from trainshed.compose.statefile import State
from trainshed.compose.trouble import Trouble, unreadable
from trainshed.runner import images
from trainshed.runner.settings import Settings

_RUNNERS: Final = {
    "auto": "auto: sandboxes where possible, else plain processes",
    "sandbox": "sandbox",
    "process": "process: plain processes that share ports and files: jobs may collide",
}
_RELAXED: Final = "relaxed: pods run here whatever they request (up --no-relax ends that)"
_STRICT: Final = "strict: pods wait for what they request (up --relax ignores it)"
_LATER: Final = "; changed since it was started, counts with the next up"


@dataclass(frozen=True, slots=True)
class Mode:
    settings: Settings
    config: str
    """The file that was read; empty where there is none."""
    trouble: str = ""
    """Why the settings cannot be read, where they cannot."""
    hint: str = ""
    """What to do about that, where it is known."""

    def rows(self, running: Mapping[PartName, State]) -> dict[str, str]:
        """For people; told of parts that were started with other settings."""
        if self.trouble:
            return {"settings": f"cannot be read: {self.trouble}"}
        later = {
            part.name: _LATER
            for part in (OPERATOR, AGENT)
            if (state := running.get(part.name)) and state.settings != settings.digest(self.settings, part)
        }
        return {
            "runner": _RUNNERS[self.settings.runner] + later.get(AGENT.name, ""),
            "scheduling": (_RELAXED if self.settings.relax else _STRICT) + later.get(OPERATOR.name, ""),
            **({"settings": self.config} if self.config else {}),
        }

    def body(self) -> dict[str, object]:
        """For programs."""
        if self.trouble:
            return {"config": self.config or None, "trouble": self.trouble}
        return {"runner": self.settings.runner, "relax": self.settings.relax, "config": self.config or None}


def read(folder: DataFolder) -> Mode:
    """What the next `up` without options brings; the present mode, unless the file was changed since."""
    config = ""
    try:
        config = settings.config_of(folder)
        _, chosen = settings.chosen(folder, Choices())
    except OSError as error:  # a folder that is not ours
        return Mode(Settings(), config, unreadable(error, folder.config).message)
    except Trouble as trouble:
        return Mode(Settings(), config, trouble.message, trouble.hint)
    return Mode(chosen, config)


def absent_images(chosen: Settings) -> list[str]:
    """What is wrong with the environments that images stand for, one line each."""
    found = []
    for rule in chosen.images:
        try:
            here = images.Choice(rule.path or sys.prefix, f'[images] "{rule.pattern}"', rule.contents)
            images.look(here, Path.exists)
        except images.NoEnvironment as missing:
            found.append(str(missing))
    return found
