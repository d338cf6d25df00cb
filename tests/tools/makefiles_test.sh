#!/usr/bin/env bash
# makefiles_test.sh (release build only): make, which LuaRocks builds with, finds the folders into which rules write;
# Ninja makes them by itself.
set -u
cmake=$(command -v cmake) && command -v make >/dev/null || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
options=(-DNEAP_TESTS=OFF -DCMAKE_BUILD_TYPE=Release)
if ! "$cmake" -G "Unix Makefiles" -S . -B "$folder" "${options[@]}" >"$folder/log" 2>&1; then
    tail -n 20 "$folder/log"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi

passed=0 failed=0
while read -r into; do
    # The generator of the manual page makes its own.
    if [ -d "$folder/$into" ] || [ "$into" = generated/command_line ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "rules write into $into, which nothing makes"
    fi
done < <(sed -n 's#^\([^\#:$[:space:]][^:[:space:]]*\)/[^/:]*:.*#\1#p' "$folder"/CMakeFiles/*/build.make |
    grep -v '^CMakeFiles' | sort -u)
if [ "$passed" -eq 0 ]; then
    echo "there are no rules: what this test reads has changed"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
