#!/usr/bin/env bash
# header_test.sh: engine/cuda/driver.h declares the driver's functions and numbers as cuda.h does, if that is there;
# release build only.
set -eu
header=
for folder in ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda/include /usr/include; do
    if [ -z "$header" ] && [ -f "$folder/cuda.h" ]; then header=$folder; fi
done
if [ -z "$header" ]; then
    echo "0 passed, 0 failed, 1 skipped"
    exit
fi
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# The numbers: each enumerator of ours, compared by name.
{
    echo '#include <cuda.h>'
    sed -n '/^#else/,/^#endif/p' engine/cuda/driver.h | sed -nE 's/^ *(CU[A-Z_a-z0-9]+) = ([0-9]+),?$/\1 \2/p' |
        while read -r name value; do echo "_Static_assert($name == $value, \"$name\");"; done
} >"$work/numbers.c"
cat >"$work/functions.c" <<'C'
#include "engine/cuda/driver.h"
void fill(cuda_driver *driver) {
#define SAME(name, parameters) driver->name = name;
    CUDA_DRIVER_FUNCTIONS(SAME)
}
C
passed=0 failed=0
for part in numbers functions; do
    if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -DNEAP_CUDA_HEADER=1 -I. -isystem "$header" -fsyntax-only \
        "$work/$part.c"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
[ "$(grep -c _Static_assert "$work/numbers.c")" -gt 20 ]
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
