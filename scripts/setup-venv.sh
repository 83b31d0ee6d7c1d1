#!/usr/bin/env bash
# Make .venv with the package ($1 is run), or with its extra $1 (test, docs, or dev, which contains
# test); return at once when that, or more, was done since pyproject.toml and constraints.txt last
# changed.
# What the installer says goes to .venv/setup.log, and is shown where it fails.
set -euo pipefail
cd "$(dirname "$0")/.."
extra="${1:-test}"
case "$extra" in
run) package="." enough="run test docs dev" ;;
test) package=".[test]" enough="test dev" ;;
docs) package=".[docs]" enough="docs" ;;
dev) package=".[dev]" enough="dev" ;;
*) echo "$0 takes run, test, docs or dev, not $extra" >&2 && exit 2 ;;
esac
log="$(mktemp)"

has_pip() { .venv/bin/python -m pip --version >/dev/null 2>&1; }
is_done() {
    local one stamp
    for one in $enough; do
        stamp=".venv/.installed-$one"
        [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt constraints.txt ] && return 0
    done
    return 1
}
if [ -x .venv/bin/python ] && has_pip && is_done; then
    .venv/bin/python -c "" 2>/dev/null && exit 0
fi

install_with_uv() {
    command -v uv >/dev/null 2>&1 || return 1
    [ -x .venv/bin/python ] || uv venv --quiet --seed --python "$python" .venv || return 1
    has_pip || uv pip install --quiet --python .venv/bin/python pip # whoever made it
    uv pip install --quiet --python .venv/bin/python --constraint constraints.txt --editable "$package"
}
install_with_pip() {
    has_pip || .venv/bin/python -m ensurepip --upgrade >/dev/null 2>&1 || "$python" -m venv --clear .venv
    # modules are compiled when they are first used, which is sooner, unless that would not be kept
    local compiled="--no-compile"
    # an old pip makes a program that imports `re` before Ctrl-C is handled
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip || true
    [ -z "${PYTHONDONTWRITEBYTECODE:-}" ] || compiled="--compile"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check "$compiled" \
        --constraint constraints.txt --editable "$package"
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
touch ".venv/.installed-$extra"
