#!/usr/bin/env bash
# Print the path of a Python >= 3.12 that can make a virtual environment; else say in one sentence
# what is missing. Candidates are run, not only looked up: a pyenv shim exists whether or not the
# version behind it does. $PYTHON, where set, is the only candidate. 3.12 comes first because
# constraints.txt was made with it.
set -u

suits() { # it runs and is new enough
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1
}
makes_environments() { # uv brings its own pip; venv needs ensurepip, which some systems split off
    command -v uv >/dev/null 2>&1 || "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}
pyenv_pythons() {
    local root
    for root in "${PYENV_ROOT:-}" "$(pyenv root 2>/dev/null)" "${HOME:-}/.pyenv"; do
        [ -n "$root" ] && ls -d "$root"/versions/3.1[2-9]*/bin/python 2>/dev/null
    done
}
candidates() {
    local name
    if [ -n "${PYTHON:-}" ]; then
        echo "$PYTHON"
        return
    fi
    for name in python3.12 python3.13 python3.14 python3 python; do
        type -ap "$name" 2>/dev/null
    done
    pyenv_pythons
    uv python find --no-python-downloads '>=3.12' 2>/dev/null
}

bare=""
while IFS= read -r candidate; do
    suits "$candidate" || continue
    if makes_environments "$candidate"; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit 0
    fi
    bare="${bare:-$candidate}"
done < <(candidates)

if [ -n "$bare" ]; then
    echo "bayeseval needs the venv and ensurepip modules of $bare: install them (on Debian and Ubuntu the package python3-venv), or install uv." >&2
elif [ -n "${PYTHON:-}" ]; then
    echo "bayeseval needs Python 3.12 or newer, which PYTHON=$PYTHON is not." >&2
else
    echo "bayeseval needs Python 3.12 or newer, and none was found on the PATH or in pyenv: install one, or name it with PYTHON=/path/to/python." >&2
fi
exit 1
