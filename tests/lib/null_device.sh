#!/usr/bin/env bash
# tests/lib/null_device.sh ROOM [KIND NAME…]: runs the Lua tests of tests/ROOM, or those of these names, with np
# computing on devices of the kind "null", or another one (NEAP_DEVICE), whose memory the host cannot touch: so each
# read of it that is no copy is a crash.
#
# A test that names CPU devices is run as a copy that names those devices instead.
# tests/lib/null_device.txt lists the tests that cannot hold there, each with the reason: their failures are skipped.
set -u
room=$1 kind=${2:-null}
shift $(($# < 2 ? $# : 2))
list=tests/lib/null_device.txt
# What these devices do with a program does not depend on how many are tried, so sizes are those of sanitized builds;
# but on a GPU.
if [ -z "${NEAP_TEST_GPU:-}${NEAP_TEST_LONG:-}" ]; then export NEAP_TEST_BUILD=null; fi
passed=0 failed=0 skipped=0
copies=build/null_device/$kind/$room
mkdir -p "$copies"

# reason FILE TEST: why the test may fail; nothing if it must not.
reason() {
    awk -F ' *[|] *' -v file="$1" -v test="$2" \
        '$1 == file && ($2 == "*" || index(test, $2) == 1) { print $3; exit }' "$list"
}

if [ $# -eq 0 ]; then
    tests=(tests/"$room"/*_test.lua)
else
    tests=("${@/#/tests/$room/}")
    tests=("${tests[@]/%/_test.lua}")
fi
for test in "${tests[@]}"; do
    name=${test#tests/}
    if [ -n "$(reason "$name" "*")" ]; then
        skipped=$((skipped + 1))
        continue
    fi
    if grep -q '"cpu' "$test"; then
        sed "s/cpu:/$kind:/g; s/\"cpu\"/\"$kind\"/g; s#$test#$copies/${test##*/}#g" "$test" >"$copies/${test##*/}"
        test=$copies/${test##*/}
    fi
    status=0
    out=$(NEAP_DEVICE=$kind timeout 600 "$NEAP" "$test" 2>&1) || status=$?
    read -r p f s < <(awk '/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3; s += $5 }
                           END { print p+0, f+0, s+0 }' <<<"$out")
    passed=$((passed + p)) skipped=$((skipped + s))
    if [ "$status" -ne 0 ] && grep -q "there is no device $kind:[0-9]*: there are" <<<"$out"; then
        skipped=$((skipped + 1)) # it takes more of them than this machine has
        continue
    fi
    if [ "$status" -ne 0 ] && [ "$f" -eq 0 ]; then
        failed=$((failed + 1))
        printf '%s on %s devices ended with status %d\n%s\n' "$name" "$kind" "$status" "$(tail -n 20 <<<"$out")"
    fi
    while read -r line; do
        if [ -n "$(reason "$name" "$line")" ]; then
            skipped=$((skipped + 1))
        else
            failed=$((failed + 1))
            printf '%s on %s devices: %s\n' "$name" "$kind" "$line"
        fi
    done < <(sed -n 's/^FAILED //p' <<<"$out")
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
