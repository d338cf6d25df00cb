#!/usr/bin/env bash
# array_api_test.sh (release build only): the Python array API standard, 2024.12, checked against array_api_strict and
# NumPy by properties: tests/array_api/*.py, through neap_array_api.py.
#
# It needs Python with requirements.txt, in the virtual environment NEAP_ARRAY_API_VENV (else ~/.cache/neap/array_api).
# Without it the test says that it was skipped; `tools/test --array-api` makes it, and draws many examples of each
# property (NEAP_ARRAY_API_EXAMPLES, else 150) where a plain run draws a few, always the same.
set -u
here=$(dirname "$0")
venv=${NEAP_ARRAY_API_VENV:-$HOME/.cache/neap/array_api}
python=$venv/bin/python

skip() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

if [ "${NEAP_ARRAY_API:-}" = full ] && ! "$python" -c "import array_api_strict, hypothesis, pytest" 2>/dev/null; then
    { python3 -m venv "$venv" && "$python" -m pip install --quiet -r "$here/requirements.txt"; } ||
        skip "array API: $venv could not be made"
fi
"$python" -c "import array_api_strict, hypothesis, pytest" 2>/dev/null ||
    skip "array API: $venv has no array_api_strict, hypothesis, pytest (tools/test --array-api)"

NEAP=$(realpath "$NEAP")
export NEAP PYTHONDONTWRITEBYTECODE=1
"$python" -m pytest -q --tb=short -rs -p no:cacheprovider --rootdir "$here" "$here" >"${TMPDIR:-/tmp}/array_api.$$" 2>&1
status=$?
cat "${TMPDIR:-/tmp}/array_api.$$"
last=$(tail -n 1 "${TMPDIR:-/tmp}/array_api.$$")
rm -f "${TMPDIR:-/tmp}/array_api.$$"
count() { grep -oE "[0-9]+ $1" <<<"$last" | grep -oE '[0-9]+' || echo 0; }
echo "$(count passed) passed, $(($(count failed) + $(count error))) failed, $(count skipped) skipped"
exit $status
