#!/usr/bin/env bash
# What works today, end to end: a control plane of its own in a temporary folder, a TrainJob, what kubectl sees.
set -eu
cd "$(dirname "$0")/.."
trainshed=$PWD/.venv/bin/trainshed
folder=$(mktemp -d "${TMPDIR:-/tmp}/trainshed-demo.XXXXXX")

clean_up() {
    "$trainshed" down --data-dir "$folder" >/dev/null || true
    rm -rf "$folder"
}
trap clean_up EXIT

bold='' plain=''
[ ! -t 1 ] || { bold=$'\033[1m' plain=$'\033[0m'; }
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
show() { say "$@"; "$@"; }

show "$trainshed" up --port 0 --data-dir "$folder"
KUBECONFIG=$("$trainshed" kubeconfig --data-dir "$folder")
export KUBECONFIG

if command -v kubectl >/dev/null; then
    export HOME=$folder  # kubectl's discovery cache goes with the rest
    show kubectl get clustertrainingruntimes
    show kubectl apply -f examples/01-first-trainjob
    show kubectl get trainjobs,configmaps
    show kubectl get trainjob first-trainjob -o 'custom-columns=NAME:.metadata.name,NODES:.spec.trainer.numNodes'
    show kubectl explain trainjob.spec.trainer.numNodes
    show kubectl auth can-i create trainjobs
    show kubectl delete -f examples/01-first-trainjob
else
    say scripts/demo_client.py
    .venv/bin/python scripts/demo_client.py "$KUBECONFIG" examples/01-first-trainjob
fi

printf '\nThe kubeconfig was %s; it goes now, with the control plane.\n' "$KUBECONFIG"
printf 'To keep one: .venv/bin/trainshed up\n'
