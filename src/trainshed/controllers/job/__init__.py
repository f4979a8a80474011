"""Job → Pods, as the batch/v1 Job controller of Kubernetes does it.

One policy is one file, all of them pure; `verdict` asks them in upstream's order whether the Job is over,
`desired` says which pods come and go, `status` what is said about it. `reconcile` carries it out.
Imported by compose.
"""

from trainshed.controllers.job.reconcile import controller

__all__ = ["controller"]
