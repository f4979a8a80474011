"""What is left of jobs that have finished or were deleted: records in SQLite, lines in files; both bounded.

`records` decides, `store` keeps, `recorder` and `archive` write, with the service's own identity. Who may
read is asked of the Kubernetes API by whoever shows something.
"""

from __future__ import annotations

from trainshed.backend.history.recorder import lifespan

__all__ = ["lifespan"]
