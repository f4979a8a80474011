#!/usr/bin/env bash
# From nothing to a finished two-node PyTorch job: starts Trainshed, runs the job with live logs, shows what kubectl sees.
# Trainshed stays up afterwards, in a folder of its own, to look around; a second run uses it again.
set -eu
cd "$(dirname "$0")/.."
trainshed=$PWD/.venv/bin/trainshed
export TRAINSHED_HOME=${TRAINSHED_DEMO_HOME:-$PWD/.demo}

bold='' plain=''
[ ! -t 1 ] || { bold=$'\033[1m' plain=$'\033[0m'; }
tell() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
show() { say "$@"; "$@"; }
refused() { say "$@"; ! "$@" || { echo "that should have been refused"; exit 1; }; }

tell "Trainshed: a Kubernetes API on this machine that runs Kubeflow training jobs"
say trainshed up --port 0
"$trainshed" up --port 0 --data-dir "$TRAINSHED_HOME"  # named, so that its lines lead there from any shell
KUBECONFIG=$("$trainshed" kubeconfig)
export KUBECONFIG

tell "A PyTorch script on two nodes, one process each (examples/02-pytorch-ddp)"
say trainshed run train.py --name demo --nodes 2 --nproc-per-node 1
"$trainshed" delete demo >/dev/null 2>&1 || true
(cd examples/02-pytorch-ddp && "$trainshed" run train.py --name demo --nodes 2 --nproc-per-node 1)
say trainshed describe demo
"$trainshed" describe demo

if command -v kubectl >/dev/null; then
    tell "The same through kubectl, as on a cluster"
    export HOME=$TRAINSHED_HOME  # kubectl's discovery cache goes there too
    show kubectl get trainjobs,jobsets,jobs,pods
    show kubectl logs -l jobset.sigs.k8s.io/jobset-name=demo --prefix --tail=2
    tell "A mistake is refused in words"
    refused kubectl patch trainjob demo --type=merge -p '{"spec":{"runtimeRef":{"name":"pytorch"}}}'
fi

tell "It stays up, to look around"
printf 'kubeconfig  %s\n' "$KUBECONFIG"
printf 'use it      export KUBECONFIG=%s; kubectl get pods\n' "$KUBECONFIG"
printf 'or          export TRAINSHED_HOME=%s; %s get\n' "$TRAINSHED_HOME" "$trainshed"
printf 'REST API    %s/docs\n' "$("$trainshed" url)"
printf 'stop it     %s down --data-dir %s\n' "$trainshed" "$TRAINSHED_HOME"
