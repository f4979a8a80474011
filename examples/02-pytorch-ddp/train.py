"""Linear regression with DistributedDataParallel on data made on the spot."""

import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and it keeps the group and its threads to the end
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def data(count: int = 512) -> TensorDataset:
    made = torch.Generator().manual_seed(0)
    x = torch.randn(count, 4, generator=made)
    weights = torch.tensor([[1.0], [-2.0], [3.0], [0.5]])
    return TensorDataset(x, x @ weights + 0.01 * torch.randn(count, 1, generator=made))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--epochs", type=int, default=3)
    epochs = options.parse_args().epochs

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} on {os.uname().nodename}", flush=True)

    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    sampler = DistributedSampler(data(), shuffle=True)
    loader = DataLoader(data(), batch_size=32, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch + 1}/{epochs} loss {loss.item():.4f}", flush=True)
    del model, optimizer  # they hold the group
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
