"""Each rank keeps a shard of the parameters and gathers a layer when it is that layer's turn."""

import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {world} on {os.uname().nodename}", flush=True)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    mesh = init_device_mesh("cpu", (world,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    held = sum(parameter.to_local().numel() for parameter in model.parameters())
    print(f"rank {rank} holds {held} of {sum(p.numel() for p in model.parameters())} parameters", flush=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        for x in torch.randn(8, 32, 4):
            loss = torch.nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch + 1}/3 loss {loss.item():.4f}", flush=True)
    dist.barrier()
    # At once: DTensor's caches keep the process group, and its threads may abort an interpreter that ends. A
    # worker that failed so would be started again, without a master. torchrun keeps what ranks meet at.
    os._exit(0)


if __name__ == "__main__":
    main()
