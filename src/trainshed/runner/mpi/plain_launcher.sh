#!/bin/sh
# For launchers that are plain processes: all workers are this machine, which Open MPI cannot tell apart by
# name. So it is told of one host with the slots of all, and the processes are the launcher's own.
slots=0
while read -r host room; do slots=$((slots + ${room#slots=})); done <"$TRAINSHED_MPI/hostfile"
echo "localhost slots=$slots" >"$TRAINSHED_KUBE/hostfile" || exit 1
export OMPI_MCA_orte_default_hostfile="$TRAINSHED_KUBE/hostfile" PRTE_MCA_prte_default_hostfile="$TRAINSHED_KUBE/hostfile"
# More slots than cores are no reason to refuse.
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
exec "$@"
