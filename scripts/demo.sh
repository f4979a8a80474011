#!/usr/bin/env bash
# What works today, end to end: a control plane in a temporary folder, what kubectl sees, a refusal, a crash survived.
set -eu
cd "$(dirname "$0")/.."
trainshed=$PWD/.venv/bin/trainshed
folder=$(mktemp -d "${TMPDIR:-/tmp}/trainshed-demo.XXXXXX")
export TRAINSHED_HOME=$folder

clean_up() {
    "$trainshed" down >/dev/null || true
    rm -rf "$folder"
}
trap clean_up EXIT

bold='' plain=''
[ ! -t 1 ] || { bold=$'\033[1m' plain=$'\033[0m'; }
tell() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
show() { say "$@"; "$@"; }
refused() { say "$@"; ! "$@" || { echo "that should have been refused"; exit 1; }; }

tell "A Kubernetes API on this machine, with Kubeflow's kinds and runtimes"
say trainshed up --port 0
"$trainshed" up --port 0
KUBECONFIG=$("$trainshed" kubeconfig)
export KUBECONFIG

if command -v kubectl >/dev/null; then
    export HOME=$folder  # kubectl's discovery cache goes with the rest
    show kubectl get clustertrainingruntimes
    show kubectl explain trainjob.spec.trainer.numNodes
    tell "A TrainJob for two nodes; it is checked and kept (STATE stays empty until jobs can run)"
    show kubectl apply -f examples/01-first-trainjob
    show kubectl get trainjobs,configmaps
    tell "A mistake is refused in words"
    refused kubectl patch trainjob first-trainjob --type=merge -p '{"spec":{"runtimeRef":{"name":"pytorch"}}}'
    tell "The server dies without warning, and starts again: nothing is lost"
    pid=$("$trainshed" status -o json | sed -n 's/.*"apiserver": \([0-9][0-9]*\).*/\1/p')
    show kill -9 "$pid"
    say trainshed up --port 0
    "$trainshed" up --port 0 >/dev/null
    show kubectl get trainjobs
    show kubectl delete -f examples/01-first-trainjob
else
    say scripts/demo_client.py
    .venv/bin/python scripts/demo_client.py "$KUBECONFIG" examples/01-first-trainjob
fi

printf '\nThe kubeconfig was %s; it goes now, with the control plane.\n' "$KUBECONFIG"
printf 'To keep one: .venv/bin/trainshed up\n'
