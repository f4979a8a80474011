"""Keys of the labels and annotations by which JobSets mark their Jobs and pods."""

from __future__ import annotations

from typing import Final

_PREFIX: Final = "jobset.sigs.k8s.io/"
_ALPHA: Final = "alpha.jobset.sigs.k8s.io/"

JOBSET_NAME: Final = _PREFIX + "jobset-name"
JOBSET_UID: Final = _PREFIX + "jobset-uid"
REPLICATED_JOB: Final = _PREFIX + "replicatedjob-name"
REPLICAS: Final = _PREFIX + "replicatedjob-replicas"
GLOBAL_REPLICAS: Final = _PREFIX + "global-replicas"
JOB_INDEX: Final = _PREFIX + "job-index"
GLOBAL_INDEX: Final = _PREFIX + "job-global-index"
JOB_KEY: Final = _PREFIX + "job-key"
"""A digest of the Job's namespace and name: tells the pods of one Job from those of all others."""
ATTEMPT: Final = _PREFIX + "restart-attempt"
"""`status.restarts` of the JobSet when the Job was made."""
JOB_ATTEMPT: Final = _PREFIX + "job-restart-attempt"
"""How often this Job alone had been restarted when it was made."""
GROUP_NAME: Final = _PREFIX + "group-name"
GROUP_REPLICAS: Final = _PREFIX + "group-replicas"
GROUP_INDEX: Final = _PREFIX + "job-group-index"
COORDINATOR: Final = _PREFIX + "coordinator"
PRIORITY: Final = _PREFIX + "priority"

EXCLUSIVE: Final = _ALPHA + "exclusive-topology"
"""Annotation: a label of nodes; each Job has all nodes with one value of it to itself."""
NODE_SELECTOR: Final = _ALPHA + "node-selector"
"""Annotation beside `EXCLUSIVE`: somebody has labelled and tainted the nodes by hand."""
NAMESPACED_JOB: Final = _ALPHA + "namespaced-job"
NO_SCHEDULE: Final = _ALPHA + "no-schedule"

MANAGER: Final = _PREFIX + "jobset-controller"
"""The `managedBy` that means the ordinary controller."""
