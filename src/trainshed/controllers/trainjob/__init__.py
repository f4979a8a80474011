"""TrainJob → JobSet: a runtime and a job are merged, stage by stage, and the result is watched to its end.

`stages` is the merge, `plugins` what each framework adds, `preview` the merge with the origin of every line,
`status` and `verdicts` what is said about a job, `reconcile` the loop. All but the last are pure.
Imported by compose and, for previews, by the command line.
"""

from __future__ import annotations

from trainshed.controllers.trainjob.reconcile import controller

__all__ = ["controller"]
