#!/usr/bin/env bash
# example_test.sh: examples/engine.c prints what it should: as the build made it, and compiled by the line in its head.
set -eu
passed=0 failed=0
build=$(dirname "$NEAP")
expected='product: 128 x 128 in 16 tiles, sum 12580594
operator: 1024 halved 10 times is 1, version 10
failure: line 1: divide: 7 divided by zero
failure: the next wait gives 0'

expect() { # expect NAME PROGRAM: what it prints, and that it ends well
    local printed
    if printed=$("$2" 2>&1) && [ "$printed" = "$expected" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf '%s printed:\n%s\n' "$1" "$printed"
    fi
}

expect "the built example" "$build/examples/engine"
if [ "${NEAP_TEST_BUILD:-release}" = release ]; then # a sanitized library wants its runtime linked, too
    made=$(mktemp -d)
    trap 'rm -rf "$made"' EXIT
    cc -I "$build/generated" examples/engine.c -L "$build" -lneap -Wl,-rpath,"$PWD/$build" -o "$made/engine"
    expect "the example compiled by hand" "$made/engine"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
