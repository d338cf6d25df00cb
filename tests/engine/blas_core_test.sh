#!/usr/bin/env bash
# blas_core_test.sh (release build only): an OpenBLAS that takes the processor for an old one is loaded again and told
# of a newer one; one that the user has told, or that knows, is not. A stand-in for the library says how it was loaded,
# and has no LAPACK, for want of which the script that loads it fails.
set -u
if ! grep -qw avx2 /proc/cpuinfo || ! grep -qw fma /proc/cpuinfo; then
    echo "0 passed, 0 failed, 1 skipped: this processor has no AVX2"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/blas.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
static const char *core;
static const char *variable(const char *name) {
    return getenv(name) ? getenv(name) : "-";
}
__attribute__((constructor)) static void begin(void) {
    core = getenv("OPENBLAS_CORETYPE") ? getenv("OPENBLAS_CORETYPE") : getenv("FOUND");
    fprintf(stderr, "loaded %s %s\n", variable("OPENBLAS_CORETYPE"), variable("OPENBLAS_NUM_THREADS"));
}
const char *openblas_get_corename(void) { return core; }
void openblas_set_num_threads(int count) { (void)count; }
void cblas_sgemm(void) {}
void cblas_dgemm(void) {}
C
${CC:-cc} -shared -fPIC -o "$folder/libopenblas.so.0" "$folder/blas.c" || exit 1

failed=0
# loads EXPECTED VARIABLE=VALUE…: how the library was loaded with these variables, and what they are afterwards.
loads() {
    local expected=$1 said
    shift
    said=$(env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS "$@" LD_LIBRARY_PATH="$folder" "$NEAP" -e '
        print(pcall(function() return np.linalg.eigvalsh(np.eye(3)):totable() end))
        local ffi = require "ffi"
        ffi.cdef "char *getenv(const char *name);"
        for _, name in ipairs { "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS" } do
            local value = ffi.C.getenv(name)
            io.stderr:write("after ", value ~= nil and ffi.string(value) or "-", "\n")
        end' 2>&1 >/dev/null | tr '\n' ' ')
    if [ "$said" = "$expected " ]; then
        echo "1 passed, 0 failed"
    else
        echo "FAILED with $*: '$said', expected '$expected '"
        echo "0 passed, 1 failed"
        failed=1
    fi
}
loads "loaded - 1 loaded Haswell 1 after - after -" FOUND=Prescott
loads "loaded - 1 loaded Haswell 1 after - after 4" FOUND=Core2 OPENBLAS_NUM_THREADS=4
loads "loaded - 1 after - after -" FOUND=Zen
loads "loaded - 1 after - after -" FOUND=SkylakeX
loads "loaded Nehalem 1 after Nehalem after -" FOUND=Prescott OPENBLAS_CORETYPE=Nehalem
exit $failed
