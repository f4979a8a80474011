"""Each process has a part of the data; all of them take the mean of their gradients."""

import os

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils


def main() -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        coordinator_address=f"{os.environ['COORDINATOR_ADDRESS']}:{os.environ['COORDINATOR_PORT']}",
        num_processes=int(os.environ["NUM_PROCESSES"]),
        process_id=int(os.environ["PROCESS_ID"]),
    )
    rank = jax.process_index()
    print(f"process {rank} of {jax.process_count()}", flush=True)
    x = jax.random.normal(jax.random.key(rank), (128, 4))
    weights = jnp.zeros(4)
    loss = jax.jit(jax.value_and_grad(lambda weights: jnp.mean((x @ weights - x.sum(axis=1)) ** 2)))
    for _ in range(20):
        value, gradient = loss(weights)
        weights = weights - 0.2 * multihost_utils.process_allgather(gradient).mean(axis=0)
    print(f"process {rank}: loss {float(value):.4f} after 20 steps", flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
