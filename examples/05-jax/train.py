"""Every process owns a part of the data; JAX adds up their gradients across the nodes."""

import os

import jax
import jax.numpy as jnp
from jax.experimental import multihost_utils


def main() -> None:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(
        coordinator_address=os.environ["JAX_COORDINATOR_ADDRESS"],
        num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
        process_id=int(os.environ["JAX_PROCESS_ID"]),
    )
    rank, world = jax.process_index(), jax.process_count()
    print(f"process {rank} of {world}, {jax.device_count()} devices", flush=True)

    x = jax.random.normal(jax.random.key(rank), (256, 4))
    y = x @ jnp.array([1.0, -2.0, 3.0, 0.5])
    weights = jnp.zeros(4)
    loss = jax.jit(jax.value_and_grad(lambda weights: jnp.mean((x @ weights - y) ** 2)))
    for _ in range(20):
        value, gradient = loss(weights)
        weights = weights - 0.1 * multihost_utils.process_allgather(gradient).mean(axis=0)
    print(f"process {rank}: loss {float(value):.4f} after 20 epochs", flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
