#!/usr/bin/env bash
# Make a virtual environment with trainshed and the developer tools. Called by `make setup`.
set -eu
cd "$(dirname "$0")/.."
venv=${1:-.venv}

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "Error: no Python 3.11 or newer found. Hint: install one, or name it with PYTHON=/path/to/python3." >&2
    exit 3
}

# Tools that pods will need; the control plane works without them, so nothing here may fail the set-up.
system_packages() {
    missing=()
    command -v bwrap >/dev/null || missing+=(bubblewrap)
    command -v slirp4netns >/dev/null || command -v pasta >/dev/null || missing+=(slirp4netns)
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing ${missing[*]}"
        DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y -qq --no-install-recommends \
            "${missing[@]}" >/dev/null 2>&1 && return 0
    fi
    echo "not installed: ${missing[*]} (needed to run pods; as root: apt-get install ${missing[*]})"
}

python=$(find_python)
if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv" || {
        echo "Error: cannot make $venv. Hint: on Debian and Ubuntu, apt-get install python3-venv." >&2
        exit 3
    }
fi
pip() { "$venv/bin/python" -m pip -qq --disable-pip-version-check "$@"; }
pip install --constraint constraints.txt pip
pip install --constraint constraints.txt --editable . --group dev
system_packages
echo "ready: $venv/bin/trainshed"
