#!/usr/bin/env bash
# native_vectors_test.sh (release build only): no function of floats that native code is put together from does a part
# of its lanes one by one, or in pieces of a vector: all arithmetic in the bitcode is of vectors of all lanes. Skipped
# without a generator.
set -eu
folder=$(dirname "${NEAP:-build/neap}")/native
llvm_dis=$(command -v llvm-dis-19 || true)
if [ ! -d "$folder" ] || [ -z "$llvm_dis" ]; then
    echo "skipped: native code in vectors: no bitcode or no llvm-dis-19"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

passed=0 failed=0
for file in "$folder"/rows_*_F32.bc "$folder"/rows_*_F64.bc; do
    case $file in
        *_baseline_*) lanes=4 ;;
        *_avx2_*) lanes=8 ;;
        *_avx512_*) lanes=16 ;;
        *) continue ;;
    esac
    pieces=$("$llvm_dis" -o - "$file" | awk -v all="<$lanes x " '
        /^define/ { match($0, /@[a-z0-9_]+/); name = substr($0, RSTART + 1, RLENGTH - 1) }
        /^}/ { name = "" }
        name !~ /^(fast|row|fold)_/ { next }
        / (fadd|fsub|fmul|fdiv|fcmp|fneg) / || /call .*@llvm\.(fma|sqrt)/ {
            found++
            if (!index($0, all)) print name
        }
        END { if (found < 300) print "only " found + 0 " operations" }' | sort | uniq -c)
    if [ -z "$pieces" ]; then
        passed=$((passed + 1))
    else
        echo "$file: operations that are not on vectors of $lanes:"
        echo "$pieces"
        failed=$((failed + 1))
    fi
done
[ $((passed + failed)) -gt 0 ] || failed=1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
