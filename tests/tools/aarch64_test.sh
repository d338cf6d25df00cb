#!/usr/bin/env bash
# aarch64_test.sh: the core is built for aarch64 and its kernel tests run under qemu-user, with fewer samples than here,
# for qemu is slow; every map and reduction gives the same bits there as on this machine (release build only).
#
# Wants what `tools/setup --aarch64` installs; without it, it is skipped. The build is kept in build/aarch64.
set -u
passed=0 failed=0
build=build/aarch64
log=$build/build.log
emulated=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
tests=(
    "lazy/vm_kernels 100" "lazy/vm_stages 40" "lazy/vm_math --batches 9" lazy/format_test ops/isa
    engine/float_mode engine/semantics engine/parallel effects/order
)

for tool in aarch64-linux-gnu-gcc "${emulated[0]}" luajit; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped aarch64: no $tool (tools/setup --aarch64 installs it)"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
done

note() { # note STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $2"
    fi
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

mkdir -p "$build"
targets=()
for test in "${tests[@]}"; do targets+=("tests/${test%% *}"); done
if ! { { [ -f "$build/build.ninja" ] || cmake --preset aarch64; } &&
    cmake --build "$build" --target "${targets[@]}"; } \
    >"$log" 2>&1; then
    tail -n 40 "$log"
    note 1 "the build for aarch64"
    finish
fi

for test in "${tests[@]}"; do
    read -ra words <<<"$test"
    output=$("${emulated[@]}" "$build/tests/${words[0]}" "${words[@]:1}" 2>&1)
    status=$?
    note $status "$test"
    if [ $status -ne 0 ]; then tail -n 10 <<<"$output"; fi
done

here=$(mktemp) there=$(mktemp)
trap 'rm -f "$here" "$there"' EXIT
"$(dirname "$NEAP")/tests/ops/isa" --hashes 2>/dev/null >"$here"
"${emulated[@]}" "$build/tests/ops/isa" --hashes 2>/dev/null >"$there"
[ "$(wc -l <"$here")" -gt 400 ]
note $? "hashes of all maps and reductions"
diff "$here" "$there"
note $? "the same bits on aarch64"
finish
