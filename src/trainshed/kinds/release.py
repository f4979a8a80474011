"""Which Kubernetes we behave like, as the server and every node say."""

from __future__ import annotations

from typing import Final

KUBERNETES: Final = "v1.32.4"
MAJOR, MINOR, _ = KUBERNETES.removeprefix("v").split(".")
