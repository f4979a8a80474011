"""Training that goes on from its last checkpoint, with however many nodes there are.

torchrun starts every worker again when a node is lost or joins; the checkpoint carries the work over.
"""

import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and it keeps the group and its threads to the end
from torch.nn.parallel import DistributedDataParallel

FOLDER = Path(os.environ.get("CHECKPOINTS", "checkpoints"))
STEPS = int(os.environ.get("STEPS", "20"))
PAUSE = float(os.environ.get("PAUSE", "0"))


def load(model: torch.nn.Module) -> int:
    """The step to go on from."""
    file = FOLDER / "latest.pt"
    if not file.exists():
        return 0
    kept = torch.load(file)
    model.load_state_dict(kept["model"])
    return int(kept["step"])


def save(model: torch.nn.Module, step: int) -> None:
    """Whole or not at all: a rank may be killed at any moment."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict(), "step": step}, FOLDER / "new.pt")
    (FOLDER / "new.pt").rename(FOLDER / "latest.pt")


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    first = load(model)
    print(f"rank {rank} of {world} starts at step {first}", flush=True)
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05)
    for step in range(first, STEPS):
        x = torch.randn(16, 4)
        loss = torch.nn.functional.mse_loss(parallel(x), x.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            save(model, step + 1)
            print(f"step {step + 1}/{STEPS} world {world} loss {loss.item():.4f}", flush=True)
        time.sleep(PAUSE)
    del parallel, optimizer  # they hold the group
    dist.barrier()
    print(f"rank {rank} of {world} done at step {STEPS}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
