"""When a job runs, has succeeded, has failed or starts again: one file for each way the kinds have.

Pure. All are given how the pods of each type stand, in the order the kind wants, and write into a draft.
"""

from __future__ import annotations

from collections.abc import Callable

from trainshed.controllers.v1jobs.judging import leading, strict, tensorflow
from trainshed.controllers.v1jobs.judging.standing import Standing
from trainshed.controllers.v1jobs.status import Draft
from trainshed.kinds.kubeflow.families import JAX, MPI, MXNET, PADDLE, PYTORCH, TENSORFLOW, XGBOOST, Family

Judge = Callable[[Draft, Standing], None]

_JUDGES: dict[str, Judge] = {
    PYTORCH.kind: leading.judge,
    PADDLE.kind: leading.judge,
    JAX.kind: leading.judge,
    TENSORFLOW.kind: tensorflow.judge,
    XGBOOST.kind: strict.judge,
    MXNET.kind: strict.judge,
    MPI.kind: strict.judge,
}


def judge(family: Family, draft: Draft, standing: Standing) -> None:
    _JUDGES[family.kind](draft, standing)
