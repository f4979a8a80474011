"""What cannot be run at all: the merge ends with a reason and a sentence for the TrainJob's owner."""

from __future__ import annotations

UNSUPPORTED = "TrainingRuntimeNotSupported"
TOO_MANY = "TooManyReplicas"
CREATION_FAILED = "TrainJobResourcesCreationFailed"


class Refusal(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message
