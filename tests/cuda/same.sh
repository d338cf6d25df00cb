#!/usr/bin/env bash
# tests/cuda/same.sh COMMAND…: a test that passes if the command prints the same with its arrays on a GPU as on the CPU.
# Products are left to the host, since those of cuBLAS have other bits.
set -u
export NEAP_CUDA_LIBRARIES=/nowhere
cpu=$("$@" 2>&1) && gpu=$(NEAP_DEVICE=cuda "$@" 2>&1) && [ "$cpu" = "$gpu" ] && [ -n "$cpu" ] && {
    echo "1 passed, 0 failed"
    exit
}
printf '%s\n' "FAILED $*: on the GPU it prints something else, or fails" "0 passed, 1 failed"
if [ -n "${gpu+x}" ]; then diff <(echo "$cpu") <(echo "$gpu") | head -n 20; else tail -n 20 <<<"$cpu"; fi
exit 1
