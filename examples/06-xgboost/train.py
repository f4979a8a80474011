"""Distributed boosting: the first worker runs the tracker, all of them train one model together."""

import os
import threading

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker


def main() -> None:
    rank, workers = int(os.environ["DMLC_TASK_ID"]), int(os.environ["DMLC_NUM_WORKER"])
    host, port = os.environ["DMLC_TRACKER_URI"], int(os.environ["DMLC_TRACKER_PORT"])
    if rank == 0:
        tracker = RabitTracker(host_ip="0.0.0.0", port=port, n_workers=workers)
        tracker.start()
        waiting = threading.Thread(target=tracker.wait_for, daemon=True)
        waiting.start()
    with collective.CommunicatorContext(
        dmlc_tracker_uri=host, dmlc_tracker_port=port, dmlc_task_id=str(rank), dmlc_retry=30
    ):
        made = np.random.default_rng(rank)
        x = made.normal(size=(400, 4))
        matrix = xgb.DMatrix(x, label=(x[:, 0] + x[:, 1] > 0).astype(int))
        scores: dict = {}
        xgb.train(
            {"objective": "binary:logistic", "max_depth": 3, "eval_metric": "error"},
            matrix,
            num_boost_round=10,
            evals=[(matrix, "train")],
            evals_result=scores,
            verbose_eval=False,
        )
        error = scores["train"]["error"][-1]
        print(
            f"worker {collective.get_rank()} of {collective.get_world_size()}: error {error:.3f}", flush=True
        )
    if rank == 0:
        waiting.join()  # the others say goodbye to the tracker, which ends with this process


if __name__ == "__main__":
    main()
