#!/usr/bin/env bash
# header_test.sh: engine/cuda/driver.h, libraries.h and collectives.h declare functions and numbers of the driver and of
# libraries as CUDA's headers do, and the libraries beside the headers have what is declared; release build only.
#
# Looked at are the toolkit (CUDA_HOME, /usr/local/cuda, /usr) and each folder of the list NEAP_CUDA_PACKAGES, a
# site-packages/nvidia of a Python, where the packages of a version of CUDA lie side by side (the lists of packages for
# CUDA 12 and 13 stand at the end). What is not there is named.
set -eu
passed=0 failed=0 skipped=0
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
[ "$(grep -c _Static_assert "$work/numbers.c")" -gt 20 ]
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
numbers engine/cuda/collectives.h nccl.h >"$work/nccl_numbers.c"
[ "$(grep -c _Static_assert "$work/nccl_numbers.c")" -gt 5 ]
cat >"$work/nccl_functions.c" <<'C'
#include "engine/cuda/collectives.h"
#define SAME(name, parameters) ncclResult_t(*of_##name) parameters = name;
NCCL_FUNCTIONS(SAME)
const char *(*of_text)(ncclResult_t result) = ncclGetErrorString;
C

# Does a library have all functions that are declared?
exported() { # exported PREFIX FILE ARGUMENTS…: of the macros PREFIX_FUNCTIONS and PREFIX_TYPED_FUNCTIONS
    local prefix=$1 file=$2 arguments declared=libraries
    if [ "$prefix" = NCCL ]; then declared=collectives; fi
    if [ "$prefix" = CUDA_DRIVER ]; then declared=driver; fi
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

# ---- One set of headers and libraries --------------------------------------------------------------------------------

lacks() { # lacks SET WHAT: it is not there
    echo "$1 has no $2: skipped"
    skipped=$((skipped + 1))
}

compiles() { # compiles SET PART FLAG…
    local set=$1 part=$2
    shift 2
    if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -Wno-deprecated-declarations -DNEAP_CUDA_HEADER=1 -I. "$@" \
        -fsyntax-only "$work/$part.c"; then
        passed=$((passed + 1))
    else
        echo "$set: $part differ"
        failed=$((failed + 1))
    fi
}

has() { # has FOLDER… -- HEADER: one of the folders has it
    local folders=()
    while [ "$1" != -- ]; do folders+=("$1") && shift; done
    for folder in "${folders[@]}"; do
        if [ -f "$folder/$2" ]; then return 0; fi
    done
    return 1
}

has_exported() { # has_exported SET LIBRARY PREFIX ARGUMENTS… for a file "LIBRARY.*" in one of the folders `libraries`
    local set=$1 library=$2 file folder
    shift 2
    for folder in "${libraries[@]}"; do
        for file in "$folder/$library".so.[0-9]*; do
            if [[ $file =~ \.so\.[0-9]+$ ]] && [ -f "$file" ]; then
                exported "$1" "$file" "${@:2}"
                return
            fi
        done
    done
    lacks "$set" "$library"
}

look_at() { # look_at SET FOLDER… -- FOLDER…: of headers, of libraries
    local set=$1 headers=() flags=() part header
    shift
    while [ "$1" != -- ]; do
        headers+=("$1") flags+=(-isystem "$1")
        shift
    done
    libraries=("${@:2}")
    if ! has "${headers[@]}" -- cuda.h; then
        lacks "$set" cuda.h
        return
    fi
    echo "$set: CUDA $(printf '#include <cuda.h>\nCUDA_VERSION' | ${CC:-cc} -E -P "${flags[@]}" - | tail -n 1)"
    for part in numbers functions structure; do compiles "$set" $part "${flags[@]}"; done
    for header in cublas_v2.h cusolverDn.h cufft.h cudnn.h; do
        if ! has "${headers[@]}" -- $header; then lacks "$set" $header && header= && break; fi
    done
    if [ -n "$header" ]; then
        for part in library_numbers library_functions; do compiles "$set" $part "${flags[@]}"; done
    fi
    if has "${headers[@]}" -- nccl.h; then
        for part in nccl_numbers nccl_functions; do compiles "$set" $part "${flags[@]}"; done
    else
        lacks "$set" nccl.h
    fi
    has_exported "$set" libcublas CUBLAS "S, " "D, " "C, " "Z, "
    has_exported "$set" libcusolver CUSOLVER "S, , , or, sy" "D, , , or, sy" "C, , , un, he" "Z, , , un, he"
    has_exported "$set" libcufft CUFFT "R, C, , " "D, Z, , "
    has_exported "$set" libcudnn CUDNN
    has_exported "$set" libnccl NCCL
}

# ---- Those of this machine -------------------------------------------------------------------------------------------

for toolkit in ${CUDA_HOME:+"$CUDA_HOME"} /usr/local/cuda /usr; do
    if [ -f "$toolkit/include/cuda.h" ]; then break; fi
done
dnn=${CUDNN_HOME:-$toolkit} # its headers may be in a folder of their own
look_at "$toolkit" "$toolkit/include" "$dnn/include" -- "$toolkit/lib64" "$toolkit/lib" "$dnn/lib64" "$dnn/lib"
for stub in "$toolkit"/lib{64,}/stubs/libcuda.so; do # a library to link with that has the driver's names
    if [ -f "$stub" ]; then exported CUDA_DRIVER "$stub" && break; fi
done

# Of CUDA 12 nvidia-cuda-runtime-cu12 nvidia-cublas-cu12 nvidia-cusolver-cu12 nvidia-cufft-cu12 nvidia-cusparse-cu12
# nvidia-cudnn-cu12 nvidia-nccl-cu12; of CUDA 13 nvidia-cuda-runtime nvidia-cuda-crt nvidia-cublas nvidia-cusolver
# nvidia-cufft nvidia-cudnn-cu13 nvidia-nccl-cu13.
IFS=: read -ra packages <<<"${NEAP_CUDA_PACKAGES-}"
for folder in "${packages[@]}"; do
    look_at "$folder" "$folder"/*/include -- "$folder"/*/lib
done
if [ ${#packages[@]} -eq 0 ]; then lacks NEAP_CUDA_PACKAGES "folder of packages"; fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
