"""Pi from random points, each process throwing its own."""

import random

from mpi4py import MPI

POINTS = 200_000


def main() -> None:
    world = MPI.COMM_WORLD
    chance = random.Random(world.rank)
    inside = sum(chance.random() ** 2 + chance.random() ** 2 < 1 for _ in range(POINTS))
    print(f"process {world.rank} of {world.size} on {MPI.Get_processor_name()}", flush=True)
    total = world.reduce(inside, root=0)
    if world.rank == 0:
        print(f"pi is about {4 * total / (POINTS * world.size):.3f}", flush=True)


if __name__ == "__main__":
    main()
