#!/usr/bin/env bash
# hour_test.sh (release build only): tools/gpu_hour runs its stages and reports, with the fake driver in place of a GPU:
# of those stages tests/lazy/gpu_rows, tests/lazy/gpu_calls and tests/cuda/fault.
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
LD_LIBRARY_PATH=$(dirname "$NEAP")/tests/cuda/fake
export LD_LIBRARY_PATH
if ! "$NEAP" doctor | grep -q '^code for GPUs  *LLVM'; then
    echo "0 passed, 0 failed, 1 skipped: there is no generator of code for GPUs"
    exit
fi
passed=0 failed=0
has() { # has TEXT: the report holds it
    if grep -qF -- "$1" "$work/out/report.txt"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "the report lacks '$1':"
        cat "$work/out/report.txt"
    fi
}
hour() {
    tools/gpu_hour --jobs 2 --out "$work/out" "$@" >"$work/log" 2>&1 || true
}
hour --groups bits --only '^(rows-i8|calls-i8)$'
has "GPUs             cuda:0 Fake GPU 0"
has "0 of 2 stages failed"
hour --groups alone --only '^fault$' # the fake driver's kernels do nothing, so this one fails
has "    again: env NEAP_TEST_ON=cuda build/tests/cuda/fault"
has "1 of 1 stages failed"
hour --groups bits --only '^rows-i8$' --seconds 1
has "rows-i8                      not run: no time was left"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
