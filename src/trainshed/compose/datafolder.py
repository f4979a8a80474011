"""Where everything lies: one folder for state, another for what can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainshed.compose import trouble
from trainshed.compose.trouble import Trouble


@dataclass(frozen=True, slots=True)
class DataFolder:
    root: Path
    cache: Path

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    def note(self, part: str) -> Path:
        """Which process is the part (server, operator, agent, backend) at the moment."""
        return self.root / f"{part}.json"

    def log_of(self, part: str) -> Path:
        return self.root / f"{part}.log"

    @property
    def pod_logs(self) -> Path:
        """Lines of pods, also of those that are gone."""
        return self.root / "logs"

    def hold(self, part: str) -> Path:
        """Locked by the part for as long as it lives."""
        return self.root / f"{part}.lock"

    @property
    def state(self) -> Path:
        """Who runs the server at the moment, and where it listens."""
        return self.note("server")

    @property
    def log(self) -> Path:
        return self.log_of("server")

    @property
    def door(self) -> Path:
        """Where the other parts reach the server, past TLS."""
        return self.root / "server.sock"

    @property
    def config(self) -> Path:
        """The user's settings, where there are any."""
        return self.root / "config.toml"

    @property
    def choices(self) -> Path:
        """What the last `up` was told on the command line."""
        return self.root / "up.json"

    @property
    def rest(self) -> Path:
        """Where the REST backend listened the last time."""
        return self.root / "rest.json"

    @property
    def access_log(self) -> Path:
        """Requests to the REST backend, one line of JSON each."""
        return self.root / "backend-access.log"

    @property
    def audit(self) -> Path:
        return self.root / "audit.log"

    @property
    def database(self) -> Path:
        return self.root / "store" / "store.db"

    @property
    def lock(self) -> Path:
        """Held while something is being started or stopped."""
        return self.root / "up.lock"

    def make(self) -> None:
        """Create the folder, readable by its owner only. Raises `Trouble`."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            raise Trouble(f"{self.root} is not a folder", "choose another one with --data-dir") from None
        except OSError as error:
            raise trouble.from_os(error, self.root) from error


def locate(chosen: Path | None, environment: Mapping[str, str]) -> DataFolder:
    """The folder somebody chose, else `TRAINSHED_HOME`, else the XDG data home. Raises `Trouble`."""
    if chosen is None and (home := environment.get("TRAINSHED_HOME")):
        chosen = Path(home)
    root = chosen or _xdg(environment, "XDG_DATA_HOME", ".local/share") / "trainshed"
    cache = _xdg(environment, "XDG_CACHE_HOME", ".cache") / "trainshed"
    try:
        return DataFolder(root.expanduser().absolute(), cache)
    except RuntimeError as error:
        raise Trouble(f"cannot find the folder {root} ({error})", "name it in full") from error


def _xdg(environment: Mapping[str, str], variable: str, usual: str) -> Path:
    given = environment.get(variable, "")
    if given.startswith("/"):  # the specification says to ignore relative ones
        return Path(given)
    try:
        return Path(environment["HOME"] if environment.get("HOME") else Path.home()) / usual
    except RuntimeError:
        raise Trouble(
            "no home folder is known", "choose a folder with --data-dir or TRAINSHED_HOME"
        ) from None
