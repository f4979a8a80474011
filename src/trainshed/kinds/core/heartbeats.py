"""How a node's agent shows that it lives, and what is said of one that does not."""

from __future__ import annotations

from typing import Final

AGENT: Final = "trainshed.dev/agent"
"""The label of the nodes of our own agents; its value is the machine's name."""
LEASE_NAMESPACE: Final = "kube-node-lease"
LEASE_SECONDS: Final = 40
"""How old a heartbeat may be; upstream's grace."""
SILENT: Final = "NodeStatusUnknown"
"""Reason of a node's conditions while nobody hears of its agent."""
NODE_NOT_READY: Final = "NodeNotReady"
"""Reason of a pod's condition while its node cannot start it."""
STARTABLE: Final = "PodReadyToStartContainers"
"""The pod's condition that says so; the agent takes it back as soon as it looks after the pod."""
