"""One process per node, as the platform's variables say; no torchrun."""

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and it keeps the group and its threads to the end

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    x = torch.randn(64, 4)
    loss = torch.nn.functional.mse_loss(model(x), x.sum(dim=1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(
        f"rank {dist.get_rank()}/{dist.get_world_size()} epoch {epoch + 1}/3 loss {loss.item():.4f}",
        flush=True,
    )
del model, optimizer  # they hold the group
dist.barrier()
dist.destroy_process_group()
