#!/usr/bin/env bash
# lab_test.sh (release build only): a notebook in JupyterLab, in a headless Chromium (lab.py).
#
# It needs Debian's chromium (tools/setup --lab), and the packages of requirements_lab.txt, 400 MB, in a virtual
# environment outside the tree. Without these the test says that it was skipped; `tools/test --lab` installs them.
set -eu
cd "$(dirname "$0")"
neap=$(cd ../.. && realpath "${NEAP:-build/neap}")
place=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/neap/lab-$(sha256sum requirements_lab.txt | cut -c1-12)

skip() {
    echo "skipped: tests/notebook/lab: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

if [ "${NEAP_LAB:-}" = install ]; then
    ../../tools/setup --lab || skip "chromium cannot be installed"
    if [ ! -e "$place/complete" ]; then
        { python3 -m venv "$place" && "$place/bin/pip" install -q -r requirements_lab.txt; } ||
            skip "the packages of requirements_lab.txt cannot be installed"
        touch "$place/complete"
    fi
fi
[ -e "$place/complete" ] || skip "$place has no JupyterLab (tools/test --lab)"
command -v chromium >/dev/null || skip "no chromium (tools/test --lab)"
command -v gnuplot >/dev/null || skip "no gnuplot"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$neap" kernel install --prefix "$work" | tee "$work/installed"
if grep -q "cannot run yet" "$work/installed"; then skip "$(tail -n 1 "$work/installed")"; fi
export XDG_STATE_HOME=$work/state NEAP_TEST_COUNTS=$work/counts
export NEAP_LAB_SCREENSHOT=${NEAP_LAB_SCREENSHOT:-$PWD/../../build/lab.png}
JUPYTER_PATH=$work/share/jupyter "$place/bin/python" lab.py
cat "$NEAP_TEST_COUNTS"
