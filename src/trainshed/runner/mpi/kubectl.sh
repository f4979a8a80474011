#!/bin/sh
# What launchers of MPIJobs find as /opt/kube/kubectl.
here=${0%/*}
if command -v python3 >/dev/null 2>&1; then exec python3 -I -S "$here/kubectl.py" "$@"; fi
if [ -x "$here/kubectl.bin" ]; then exec "$here/kubectl.bin" "$@"; fi
echo "kubectl: this image has no python3 and this machine no kubectl; install one of them" >&2
exit 1
