#!/usr/bin/env bash
# native_aarch64_test.sh (release build only): the functions that native code is put together from compile for aarch64,
# too. All arithmetic in their bitcode is of vectors of all lanes, as on x86-64 (native_vectors_test.sh); their machine
# code calls nothing but what native/object.c links; and a kernel of some of them is vectors without a call. clang
# needs no libraries of that target: rows take C's functions from lazy/native/plugin/freestanding/. Skipped without
# clang 19.
set -u
generated=$(dirname "${NEAP:-build/neap}")/generated
tools=(clang-19 llvm-dis-19 llc-19 llvm-nm-19 llvm-objdump-19)
for tool in "${tools[@]}"; do
    if ! command -v "$tool" >/dev/null || [ ! -f "$generated/native_gen.h" ]; then
        echo "skipped: native code for aarch64: no $tool"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
done
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
passed=0 failed=0
note() { # note STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $2"
    fi
}

lanes=4
flags=(--target=aarch64-linux-gnu -ffreestanding -Ilazy/native/plugin/freestanding -std=c11 -O3 -I. "-I$generated"
    "-DLANES=$lanes" -D_GNU_SOURCE -fopenmp-simd -fno-asynchronous-unwind-tables -fno-stack-protector
    -ffp-contract=off -fno-math-errno -fno-trapping-math -w)
rows() { # rows DTYPE: their bitcode
    clang-19 "${flags[@]}" "-DNATIVE_$1" -c -emit-llvm lazy/native/plugin/rows.c -o "$work/$1.bc"
}
known=$(grep -v '#define' lazy/native/object.c | grep -o 'FUNCTION([a-z0-9_]*' | cut -c10-)

for dtype in F32 F64 I32; do
    rows $dtype
    note $? "bitcode of $dtype"
    llc-19 -O2 -relocation-model=pic -filetype=obj "$work/$dtype.bc" -o "$work/$dtype.o"
    note $? "machine code of $dtype"
    [ "$(llvm-nm-19 --defined-only "$work/$dtype.o" | grep -c ' T row_')" -gt 20 ]
    note $? "$dtype has rows"
    strange=$(llvm-nm-19 -u "$work/$dtype.o" | awk '{ print $NF }' | grep -vxF "$known")
    [ -z "$strange" ]
    note $? "$dtype calls: $strange"
done

for dtype in F32 F64; do
    pieces=$(llvm-dis-19 -o - "$work/$dtype.bc" | awk -v all="<$lanes x " '
        /^define/ { match($0, /@[a-z0-9_]+/); name = substr($0, RSTART + 1, RLENGTH - 1) }
        /^}/ { name = "" }
        name !~ /^(fast|row|fold)_/ { next }
        / (fadd|fsub|fmul|fdiv|fcmp|fneg) / || /call .*@llvm\.(fma|sqrt)/ {
            found++
            if (!index($0, all)) print name
        }
        END { if (found < 300) print "only " found + 0 " operations" }' | sort | uniq -c)
    [ -z "$pieces" ]
    note $? "operations of $dtype that are not on vectors of $lanes: $pieces"
done

cat >"$work/kernel.c" <<'KERNEL'
#include "lazy/native/plugin/rows.c"
__attribute__((flatten)) int kernel(float *out, float *sum, const float *x, long n) {
    float a[LANES], b[LANES];
    int rare = 0;
    for (long i = 0; i < n; i += LANES) {
        rare |= fast_exp_f32(a, x + i);
        row_multiply_f32(b, a, x + i);
        row_maximum_f32(a, b, x + i);
        fold_sum_f32(sum, sum, a);
        __builtin_memcpy(out + i, a, sizeof a);
    }
    return rare;
}
KERNEL
clang-19 "${flags[@]}" -DNATIVE_F32 -c "$work/kernel.c" -o "$work/kernel.o" &&
    llvm-objdump-19 -d --no-show-raw-insn --disassemble-symbols=kernel "$work/kernel.o" >"$work/kernel.s"
note $? "a kernel"
[ "$(grep -cE '(fmla|fmul|fadd).*v[0-9]+\.4s' "$work/kernel.s")" -gt 5 ]
note $? "its arithmetic is of vectors"
! grep -qE '\b(bl|blr)\b' "$work/kernel.s"
note $? "it calls nothing"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
