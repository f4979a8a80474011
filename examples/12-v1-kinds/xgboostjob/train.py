"""Distributed boosting: rank 0 runs the tracker at MASTER_ADDR, all ranks train one model together."""

import os
import threading

import numpy as np
import xgboost as xgb
from xgboost import collective
from xgboost.tracker import RabitTracker


def main() -> None:
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        tracker = RabitTracker(host_ip="0.0.0.0", port=port, n_workers=world)
        tracker.start()
        waiting = threading.Thread(target=tracker.wait_for, daemon=True)
        waiting.start()
    # Many tries: a master's name resolves only once it is ready.
    with collective.CommunicatorContext(
        dmlc_tracker_uri=host, dmlc_tracker_port=port, dmlc_task_id=str(rank), dmlc_retry=60
    ):
        x = np.random.default_rng(rank).normal(size=(400, 4))
        matrix = xgb.DMatrix(x, label=(x[:, 0] > 0).astype(int))
        model = xgb.train({"objective": "binary:logistic", "max_depth": 2}, matrix, num_boost_round=5)
        error = float(np.mean((model.predict(matrix) > 0.5) != matrix.get_label()))
        print(f"rank {collective.get_rank()} of {collective.get_world_size()}: error {error:.3f}", flush=True)
    if rank == 0:
        waiting.join()  # the others say goodbye to the tracker, which ends with this process


if __name__ == "__main__":
    main()
