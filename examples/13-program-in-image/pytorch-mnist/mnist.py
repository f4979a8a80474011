"""Digits made on the spot, told apart by one layer; plain python, the ranks meet by MASTER_ADDR and RANK."""

import argparse

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and it keeps the group and its threads to the end


def digits(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy pictures of which one row is bright: which one is the digit."""
    made = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (count,), generator=made)
    pictures = 0.3 * torch.randn(count, 10, 10, generator=made)
    pictures[torch.arange(count), labels] += 1.0
    return pictures.flatten(1), labels


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=1)
    epochs = options.parse_args().epochs
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world}", flush=True)
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(epochs):
        for batch in range(20):
            x, y = digits(64, seed=1000 * rank + batch)
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        x, y = digits(200, seed=9999)
        right = (model(x).argmax(dim=1) == y).float().mean().item()
        print(f"rank {rank}: epoch {epoch + 1}/{epochs} accuracy={right:.2f}", flush=True)
    del model, optimizer  # they hold the group
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
