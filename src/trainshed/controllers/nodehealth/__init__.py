"""Says of nodes whose agent is silent that they are not ready, and of their pods what they wait for.

`desired` judges what was seen and words it, `reconcile` looks at the leases. What runs on such a node goes
on: an agent can die without its pods. Getting ready again is the agent's own doing.
"""

from trainshed.controllers.nodehealth.reconcile import controller

__all__ = ["controller"]
