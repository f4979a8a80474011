"""The agent's door for the API server: logs, commands, attached terminals and ports of pods on this machine.

`serve` listens on a unix socket of our own user; requests and channels are those of `kube.streaming`. Reaches
containers through the engine and the agent's own knowledge of them (`Lookup`) only.
"""

from trainshed.runner.serving.lookup import Lookup, Run
from trainshed.runner.serving.service import serve

__all__ = ["Lookup", "Run", "serve"]
