"""The files in /etc/mpi: who takes part, how to reach them, and who is there right now."""

from __future__ import annotations

from collections.abc import Iterable

from trainshed.controllers.v1jobs.mpi import names
from trainshed.kube.objects import Object


def hostfile(job: Object, workers: int, *, launcher_too: bool) -> str:
    """All workers, there or not: mpirun waits for those that are not."""
    hosts = [names.launcher(job)] if launcher_too else []
    hosts += [names.worker(job, index) for index in range(workers)]
    return "".join(f"{host} slots={names.slots(job)}\n" for host in hosts)


def kubexec(container: str) -> str:
    """What mpirun calls in place of rsh, with a host and a command."""
    where = f" --container {container}" if container else ""
    return "\n".join(
        (
            "#!/bin/sh",
            "set -x",
            "POD_NAME=$1",
            "shift",
            f'{names.KUBECTL_FOLDER}/kubectl exec ${{POD_NAME}}{where} -- /bin/sh -c "$*"',
        )
    )


def discovery(job: Object, running: Iterable[str], *, launcher_too: bool) -> str:
    """What Horovod runs again and again to learn who has come and who has gone."""
    slots = names.slots(job)
    launcher = f"\necho {names.launcher(job)}:{slots}\n" if launcher_too else ""
    return "#!/bin/sh" + launcher + "".join(f"\necho {name}:{slots}" for name in sorted(running))
