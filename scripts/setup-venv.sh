#!/usr/bin/env bash
# Make .venv with the package and its extra $1 (test or dev, which contains test); return at once when
# that was done since pyproject.toml and constraints.txt last changed. What the installer says goes to
# .venv/setup.log, and is shown where it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="${1:-test}"
stamp=".venv/.installed-$extra"
log="$(mktemp)"

fresh() { [ "$1" -nt pyproject.toml ] && [ "$1" -nt constraints.txt ]; }
has_pip() { .venv/bin/python -m pip --version >/dev/null 2>&1; }
if [ -x .venv/bin/python ] && has_pip && { fresh "$stamp" || fresh .venv/.installed-dev; }; then
    .venv/bin/python -c "" 2>/dev/null && exit 0
fi

install_with_uv() {
    command -v uv >/dev/null 2>&1 || return 1
    [ -x .venv/bin/python ] || uv venv --quiet --seed --python "$python" .venv || return 1
    has_pip || uv pip install --quiet --python .venv/bin/python pip # whoever made it
    uv pip install --quiet --python .venv/bin/python --constraint constraints.txt --editable ".[$extra]"
}
install_with_pip() {
    has_pip || .venv/bin/python -m ensurepip --upgrade >/dev/null 2>&1 || "$python" -m venv --clear .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt --editable ".[$extra]"
}

if ! .venv/bin/python -c "" 2>/dev/null; then # none yet, or the Python behind it is gone
    rm -rf .venv
    python="$(scripts/find-python.sh)"
else
    python=".venv/bin/python"
fi
echo "setting up .venv with $python (minutes the first time)" >&2
install_with_uv >"$log" 2>&1 || install_with_pip >>"$log" 2>&1 || {
    grep -i error "$log" >&2 || cat "$log" >&2
    echo "setting up .venv failed; all that was said is in $log" >&2
    exit 1
}
mv "$log" .venv/setup.log
touch "$stamp"
