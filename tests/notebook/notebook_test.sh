#!/usr/bin/env bash
# notebook_test.sh (release build only, starts first): the kernel for notebooks under jupyter_kernel_test (suite.py),
# under tests of its own through jupyter_client (kernel.py; clients.py, whose hostile messages are drawn at random;
# interact.py, widgets; debugger.py), and with the notebooks of docs/notebooks (notebooks.py). The packages of
# requirements.txt are installed into a virtual environment outside the tree, once; where that cannot be done the test
# is skipped, and says so.
set -eu -o pipefail
cd "$(dirname "$0")"
neap=$(cd ../.. && realpath "${NEAP:-build/neap}")
place=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/neap/notebook-$(sha256sum requirements.txt | cut -c1-12)

skip() {
    echo "skipped: tests/notebook: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

command -v python3 >/dev/null || skip "no python3"
if [ ! -e "$place/complete" ]; then
    { python3 -m venv "$place" && "$place/bin/pip" install -q -r requirements.txt; } >/dev/null 2>&1 ||
        skip "the packages of requirements.txt cannot be installed"
    touch "$place/complete"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$neap" kernel install --prefix "$work" | tee "$work/installed"
if grep -q "cannot run yet" "$work/installed"; then skip "$(tail -n 1 "$work/installed")"; fi
export XDG_STATE_HOME=$work/state JUPYTER_RUNTIME_DIR=$work/run
export NEAP_TEST_ERRORS=$work/errors NEAP_TEST_COUNTS=$work/counts NEAP_TEST_NEAP=$neap
touch "$NEAP_TEST_COUNTS"
status=0

run() { # run FILE PREFIX: the tests of a file, with the kernel that is installed there
    if ! JUPYTER_PATH=$2/share/jupyter "$place/bin/python" "$1" 2>&1 | tee "$work/log"; then
        status=1
        grep -A 30 '^\(FAIL\|ERROR\): ' "$work/log" >>"$work/failed" || true
    fi
}

run suite.py "$work"
run kernel.py "$work"
run clients.py "$work"
run interact.py "$work"
run debugger.py "$work"
"$neap" kernel install --prefix "$work/many" --devices 8 # for the notebook about meshes
run notebooks.py "$work/many"

# What failed is told once more at the end, where a report that keeps only some lines has it.
if [ -e "$work/failed" ]; then cat "$work/failed"; fi
# A file that has ended without a count is a failure too.
awk -v status=$status '{ p += $1; f += $3; s += $5 }
    END { if (status || NR < 6) f = f ? f : 1; printf "%d passed, %d failed, %d skipped\n", p, f, s; exit (f > 0) }' \
    "$NEAP_TEST_COUNTS"
