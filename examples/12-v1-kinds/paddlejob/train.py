"""Linear regression on two workers, their gradients averaged by paddle.DataParallel."""

import paddle
import paddle.distributed as dist


def main() -> None:
    dist.init_parallel_env()
    rank, world = dist.get_rank(), dist.get_world_size()
    ranks = paddle.to_tensor([rank])
    dist.all_reduce(ranks)
    print(f"rank {rank} of {world}: the ranks add up to {ranks.item()}", flush=True)
    paddle.seed(rank)
    model = paddle.DataParallel(paddle.nn.Linear(4, 1))
    optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
    for _ in range(40):
        x = paddle.randn([32, 4])
        loss = paddle.nn.functional.mse_loss(model(x), x.sum(axis=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    print(f"rank {rank}: loss {float(loss):.4f} after 40 steps", flush=True)


if __name__ == "__main__":
    main()
