#!/usr/bin/env bash
# seeds_test.sh (release build only): all contracts with further seeds, NEAP_CONTRACT_SEEDS, at full size; tools/test
# --contracts takes two. Golden values of these are made here, by the packages of tests/requirements.txt in a virtual
# environment outside the tree, installed once, or by the Python that NEAP_CONTRACT_PYTHON names; where there is none,
# the ways that need them are skipped, by name.
set -eu
cd "$(dirname "$0")/../.."
export NEAP=${NEAP:-build/neap} PYTHONDONTWRITEBYTECODE=1 NEAP_TEST_LONG=1
seeds=${NEAP_CONTRACT_SEEDS:-}
if [ -z "$seeds" ]; then
    echo "skipped: contracts with further seeds: tools/test --contracts runs them"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

python=${NEAP_CONTRACT_PYTHON:-}
if [ -z "$python" ]; then
    sum=$(sha256sum tests/requirements.txt | cut -c1-12)
    place=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/neap/contracts-$sum
    if [ ! -e "$place/complete" ]; then
        if { python3 -m venv "$place" && "$place/bin/pip" install -q -r tests/requirements.txt; } >/dev/null 2>&1; then
            touch "$place/complete"
        else
            echo "the packages of tests/requirements.txt cannot be installed: no golden values"
            place=
        fi
    fi
    python=${place:+$place/bin/python}
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
for seed in $seeds; do
    mkdir "$work/$seed"
    export NEAP_CONTRACT_SEED=$seed NEAP_CONTRACT_GOLDEN=$work/$seed
    for file in tests/contracts/*_test.lua; do
        module=$(basename "$file" _test.lua)
        if [ -n "$python" ] && ! "$python" tests/contracts/make.py --seed "$seed" --into "$work/$seed" "$module"; then
            echo "FAILED $module, seed $seed: its golden values"
            failed=$((failed + 1))
        fi
        "$NEAP" "$file" >"$work/log" 2>&1 || true
        count=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$work/log" || echo "0 passed, 1 failed, 0 skipped")
        grep -vF "$count" "$work/log" || true
        echo "$module, seed $seed: $count"
        echo "$count" >>"$work/counts"
    done
done
awk -v f=$failed '{ p += $1; f += $3; s += $5 }
    END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit (f > 0) }' "$work/counts"
