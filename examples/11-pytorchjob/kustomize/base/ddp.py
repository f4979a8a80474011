"""The whole model on every rank, its gradients averaged over all of them."""

import os

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and it keeps the group and its threads to the end
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} on {os.uname().nodename}", flush=True)
    torch.manual_seed(rank)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for x in torch.randn(8, 32, 4):
            loss = torch.nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch + 1}/3 loss {loss.item():.4f}", flush=True)
    del model, optimizer  # they hold the group
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
