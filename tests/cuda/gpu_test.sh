#!/usr/bin/env bash
# gpu_test.sh (release build only): what is tested on a GPU: the Lua tests of other folders with their arrays there,
# random programs against the CPU, and, where compute-sanitizer is installed, its search for bad accesses and races. Run
# by `tools/test --gpu`, which names the folders (NEAP_TEST_GPU); else, and where there is no GPU, it says that nothing
# was tried.
set -u
if [ -z "${NEAP_TEST_GPU:-}" ]; then
    echo "0 passed, 0 failed, 1 skipped: nothing is run on a GPU but by tools/test --gpu"
    exit
fi
gpus=$("$NEAP" doctor | sed -n 's/^GPUs  *//p')
case $gpus in
cuda:*) echo "on $gpus" ;;
*)
    echo "0 passed, 0 failed, 1 skipped: nothing was run on a GPU: $gpus"
    exit
    ;;
esac

failed=0
for room in $NEAP_TEST_GPU; do
    bash tests/lib/null_device.sh "$room" cuda || failed=1
done

bash tests/cuda/same.sh "$NEAP" tests/lazy/identical_test.lua run 1 "${NEAP_TEST_PROGRAMS:-16}" tier=auto || failed=1

if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        if compute-sanitizer --tool "$tool" --error-exitcode 9 "$NEAP" --gpu tests/cuda/sanitized.lua; then
            echo "1 passed, 0 failed"
        else
            failed=1
            echo "0 passed, 1 failed: compute-sanitizer, $tool"
        fi
    done
else
    echo "0 passed, 0 failed, 1 skipped: compute-sanitizer is not installed"
fi
exit $failed
