#!/usr/bin/env bash
# header_test.sh: engine/cuda/driver.h, libraries.h and collectives.h declare functions and numbers of the driver and of
# libraries as the toolkit's headers do, if these are there, and the libraries have what is declared; release build
# only.
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
numbers() { # numbers FILE HEADER…
    local file=$1
    shift
    printf '#include <%s>\n' "$@"
    sed -n '/^#else/,/^#endif/p' "$file" | sed -nE 's/^ *([A-Za-z][A-Z_a-z0-9]+) = (-?[0-9a-fx]+),?$/\1 \2/p' |
        while read -r name value; do echo "_Static_assert($name == $value, \"$name\");"; done
}
numbers engine/cuda/driver.h cuda.h >"$work/numbers.c"
cat >"$work/functions.c" <<'C'
#include "engine/cuda/driver.h"
void fill(cuda_driver *driver) {
#define SAME(name, parameters) driver->name = name;
    CUDA_DRIVER_FUNCTIONS(SAME)
}
C
# The structures: ours under other names, member by member.
same_structure() { # same_structure TAG NAME MEMBER…
    local tag=$1 name=$2 member
    shift 2
    sed -n "/^typedef struct $tag {/,/^}/p" engine/cuda/driver.h | sed "s/$tag/ours_of_$tag/; s/} $name;/} our_$name;/"
    echo "_Static_assert(sizeof(our_$name) == sizeof($name), \"size\");"
    for member; do
        echo "_Static_assert(offsetof(our_$name, $member) == offsetof($name, $member), \"$member\");"
    done
}
{
    printf '#include <cuda.h>\n#include <stddef.h>\n'
    same_structure CUDA_MEMCPY2D_st CUDA_MEMCPY2D srcMemoryType srcDevice srcPitch dstMemoryType dstDevice dstPitch \
        WidthInBytes Height
    same_structure CUDA_MEMCPY3D_st CUDA_MEMCPY3D srcMemoryType srcDevice srcPitch srcHeight dstMemoryType dstDevice \
        dstPitch dstHeight WidthInBytes Height Depth
    same_structure CUDA_KERNEL_NODE_PARAMS_v2_st CUDA_KERNEL_NODE_PARAMS func gridDimX gridDimZ blockDimX blockDimZ \
        sharedMemBytes kernelParams extra kern ctx
} >"$work/structure.c"
cat >>"$work/structure.c" <<'C'
typedef struct { struct { int type, id; } location; int flags; } our_access;
_Static_assert(sizeof(our_access) == sizeof(CUmemAccessDesc), "size");
_Static_assert(offsetof(our_access, location.id) == offsetof(CUmemAccessDesc, location.id), "id");
_Static_assert(offsetof(our_access, flags) == offsetof(CUmemAccessDesc, flags), "flags");
C
parts=(numbers functions structure)
dnn= # its headers may be in a folder of their own, CUDNN_HOME
for folder in ${CUDNN_HOME:+"$CUDNN_HOME/include"} "$header"; do
    if [ -z "$dnn" ] && [ -f "$folder/cudnn.h" ]; then dnn=$folder; fi
done
if [ -f "$header/cublas_v2.h" ] && [ -f "$header/cusolverDn.h" ] && [ -f "$header/cufft.h" ] && [ -n "$dnn" ]; then
    numbers engine/cuda/libraries.h cublas_v2.h cusolverDn.h cufft.h cudnn.h >"$work/library_numbers.c"
    [ "$(grep -c _Static_assert "$work/library_numbers.c")" -gt 30 ]
    cat >"$work/library_functions.c" <<'C'
#include "engine/cuda/libraries.h"
#define SAME_BLAS(name, parameters) cublasStatus_t(*of_##name) parameters = name;
#define SAME_BLAS_TYPED(name, member, parameters) SAME_BLAS(name, parameters)
#define SAME_SOLVER(name, parameters) cusolverStatus_t(*of_##name) parameters = name;
#define SAME_SOLVER_TYPED(name, member, parameters) SAME_SOLVER(name, parameters)
#define SAME_DNN(name, parameters) cudnnStatus_t(*of_##name) parameters = name;
#define SAME_FFT(name, parameters) cufftResult(*of_##name) parameters = name;
#define SAME_FFT_TYPED(name, member, parameters) SAME_FFT(name, parameters)
CUBLAS_FUNCTIONS(SAME_BLAS)
CUBLAS_TYPED_FUNCTIONS(SAME_BLAS_TYPED, S, float)
CUBLAS_TYPED_FUNCTIONS(SAME_BLAS_TYPED, D, double)
CUBLAS_TYPED_FUNCTIONS(SAME_BLAS_TYPED, C, cuComplex)
CUBLAS_TYPED_FUNCTIONS(SAME_BLAS_TYPED, Z, cuDoubleComplex)
CUSOLVER_FUNCTIONS(SAME_SOLVER)
CUSOLVER_TYPED_FUNCTIONS(SAME_SOLVER_TYPED, S, float, float, or, sy)
CUSOLVER_TYPED_FUNCTIONS(SAME_SOLVER_TYPED, D, double, double, or, sy)
CUSOLVER_TYPED_FUNCTIONS(SAME_SOLVER_TYPED, C, cuComplex, float, un, he)
CUSOLVER_TYPED_FUNCTIONS(SAME_SOLVER_TYPED, Z, cuDoubleComplex, double, un, he)
CUFFT_FUNCTIONS(SAME_FFT)
CUFFT_TYPED_FUNCTIONS(SAME_FFT_TYPED, R, C, float, cuComplex)
CUFFT_TYPED_FUNCTIONS(SAME_FFT_TYPED, D, Z, double, cuDoubleComplex)
CUDNN_FUNCTIONS(SAME_DNN)
const char *(*of_text)(cudnnStatus_t status) = cudnnGetErrorString;
C
    parts+=(library_numbers library_functions)
fi
if [ -f "$header/nccl.h" ]; then
    numbers engine/cuda/collectives.h nccl.h >"$work/nccl_numbers.c"
    [ "$(grep -c _Static_assert "$work/nccl_numbers.c")" -gt 5 ]
    cat >"$work/nccl_functions.c" <<'C'
#include "engine/cuda/collectives.h"
#define SAME(name, parameters) ncclResult_t(*of_##name) parameters = name;
NCCL_FUNCTIONS(SAME)
const char *(*of_text)(ncclResult_t result) = ncclGetErrorString;
C
    parts+=(nccl_numbers nccl_functions)
fi
passed=0 failed=0
for part in "${parts[@]}"; do
    if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Wno-deprecated-declarations -DNEAP_CUDA_HEADER=1 -I. \
        -isystem "$header" ${dnn:+-isystem "$dnn"} -fsyntax-only \
        "$work/$part.c"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
[ "$(grep -c _Static_assert "$work/numbers.c")" -gt 20 ]

# The libraries themselves, if they are beside the headers: they have all functions.
exported() { # exported PREFIX FILE ARGUMENTS…: of the macros PREFIX_FUNCTIONS and PREFIX_TYPED_FUNCTIONS
    local prefix=$1 file=$2 arguments declared=libraries
    if [ "$prefix" = NCCL ]; then declared=collectives; fi
    shift 2
    {
        printf '#include "engine/cuda/%s.h"\n#define NAME(name, ...) NAMED name\n%s_FUNCTIONS(NAME)\n' \
            "$declared" "$prefix"
        for arguments in "$@"; do echo "${prefix}_TYPED_FUNCTIONS(NAME, $arguments)"; done
    } | ${CC:-cc} -E -I. -xc - | grep -oE 'NAMED [A-Za-z0-9_]+' | cut -d' ' -f2 | sort >"$work/names"
    nm -D --defined-only "$file" | sed -E 's/.* //; s/@.*//' | sort >"$work/has"
    if [ -s "$work/names" ] && [ -z "$(comm -23 "$work/names" "$work/has" | tee "$work/missing")" ]; then
        passed=$((passed + 1))
    else
        echo "$file lacks: $(cat "$work/missing")"
        failed=$((failed + 1))
    fi
}
for folder in "${header%/include}"/lib64 "${header%/include}"/lib; do
    if [ -f "$folder/libcublas.so.13" ]; then exported CUBLAS "$folder/libcublas.so.13" "S, " "D, " "C, " "Z, "; fi
    if [ -f "$folder/libcusolver.so.12" ]; then
        exported CUSOLVER "$folder/libcusolver.so.12" "S, , , or, sy" "D, , , or, sy" "C, , , un, he" "Z, , , un, he"
    fi
    if [ -f "$folder/libcufft.so.12" ]; then exported CUFFT "$folder/libcufft.so.12" "R, C, , " "D, Z, , "; fi
    if [ -f "$folder/libnccl.so.2" ]; then exported NCCL "$folder/libnccl.so.2"; fi
    if [ -f "$folder/libcublas.so.13" ]; then break; fi
done
for folder in ${dnn:+"${dnn%/include}/lib64" "${dnn%/include}/lib"}; do
    if [ -f "$folder/libcudnn.so.9" ]; then exported CUDNN "$folder/libcudnn.so.9"; fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
