#!/usr/bin/env bash
# programs_test.sh (release build only, starts first): Lua tests of other folders on devices of the fake driver, those
# of linear algebra with libraries that stand in for CUDA's.
set -eu
LD_LIBRARY_PATH=$(dirname "$NEAP")/tests/cuda/fake
export LD_LIBRARY_PATH
bash tests/lib/null_device.sh lazy cuda control fusion program slices views
bash tests/lib/null_device.sh effects cuda callback debug_print
NEAP_CUDA_LIBRARIES=$LD_LIBRARY_PATH/libraries bash tests/lib/null_device.sh golden cuda complex_linalg conv \
    ${NEAP_TEST_LONG:+linalg} # factors_test.lua has the same factors of real matrices
