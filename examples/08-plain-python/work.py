"""No framework at all: each node takes its share of the work by its number."""

import os

rank, nodes = int(os.environ["JOB_COMPLETION_INDEX"]), int(os.environ.get("NODES", "2"))
mine = range(rank, 1000, nodes)
print(f"node {rank} of {nodes}: the sum of my {len(mine)} numbers is {sum(mine)}", flush=True)
