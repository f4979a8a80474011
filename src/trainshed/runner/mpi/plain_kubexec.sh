#!/bin/sh
# For launchers that are plain processes: the job's own kubexec.sh, with the folder that stands for /opt/kube.
exec sh -c "$(sed "s|/opt/kube/|$TRAINSHED_KUBE/|" "$TRAINSHED_MPI/kubexec.sh")" kubexec "$@"
