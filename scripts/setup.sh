#!/usr/bin/env bash
# Make a virtual environment with trainshed and the developer tools. Called by `make setup`; with `frameworks` as the
# second word, add the frameworks that the examples are tested with.
set -eu
cd "$(dirname "$0")/.."
venv=${1:-.venv}

fail() {
    echo "Error: $1. Hint: $2." >&2
    exit 3
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" ||
            fail "PYTHON=$PYTHON is not a Python 3.11 or newer" "name another one, or leave it out to have one looked for"
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if is_new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer found" "install one, or name it with PYTHON=/path/to/python3"
}

# Debian packages, where that is possible; a new machine has no package lists until the first update.
apt_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    echo "installing $*"
    apt_quietly install "$@" || { apt_quietly update && apt_quietly install "$@"; }
}

apt_quietly() {
    DEBIAN_FRONTEND=noninteractive timeout 300 apt-get "$1" -y -qq --no-install-recommends "${@:2}" >/dev/null 2>&1
}

# Tools that pods will need; the control plane works without them, so nothing here may fail the set-up.
system_packages() {
    missing=()
    command -v bwrap >/dev/null || missing+=(bubblewrap)
    command -v slirp4netns >/dev/null || missing+=(slirp4netns)
    [ ${#missing[@]} -gt 0 ] || return 0
    apt_install "${missing[@]}" && return 0
    echo "not installed: ${missing[*]} (needed to run pods; as root: apt-get install ${missing[*]})"
}

# Made once for all starts; without it the first `trainshed up` would take some seconds longer.
schema_cache() {
    [ -w "${HOME:-/nonexistent}" ] || return 0
    echo "generating schemas"
    "$venv/bin/python" - <<'END' || echo "not generated: the first start will do it"
import os
from trainshed.compose import datafolder
from trainshed.kinds.schemas import Schemas

Schemas.load(datafolder.locate(None, os.environ).cache)
END
}

# An editable install compiles nothing; where nobody else may write bytecode, every start would do it again.
bytecode() {
    "$venv/bin/python" -m compileall -q src || echo "not compiled: the first start will do it"
}

pip() {
    "$venv/bin/python" -m pip -q --disable-pip-version-check "$@" ||
        fail "pip could not install everything" "if the package index cannot be reached, see https_proxy and PIP_INDEX_URL"
}

if [ "${2:-}" = frameworks ]; then
    echo "installing TensorFlow, JAX, XGBoost, Paddle and MPI into $venv, for the examples' tests"
    pip install --constraint constraints.txt --group frameworks
    exit
fi

python=$(find_python)
if ! is_new_enough "$venv/bin/python"; then
    echo "making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv" >/dev/null 2>&1 ||
        { apt_install python3-venv && "$python" -m venv --clear "$venv"; } ||
        fail "cannot make $venv" "on Debian and Ubuntu, apt-get install python3-venv"
fi
echo "installing trainshed, PyTorch and the developer tools into $venv, about a minute"
pip install --constraint constraints.txt pip
pip install --constraint constraints.txt --editable . --group dev
system_packages
bytecode
schema_cache
echo "ready: $venv/bin/trainshed"
