"""Pi as a sum of many thin rectangles, of which each process takes its share."""

from mpi4py import MPI

STEPS = 200_000


def main() -> None:
    world = MPI.COMM_WORLD
    print(f"process {world.rank} of {world.size} on {MPI.Get_processor_name()}", flush=True)
    middles = ((step + 0.5) / STEPS for step in range(world.rank, STEPS, world.size))
    total = world.reduce(sum(4 / (1 + x * x) for x in middles) / STEPS, root=0)
    if world.rank == 0:
        print(f"pi is about {total:.6f}", flush=True)


if __name__ == "__main__":
    main()
