#!/usr/bin/env bash
# help_test.sh (release build only): tools/build, tools/package and tools/site print their help and do nothing else;
# tools/build says what to do where a tree has moved after it was built.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

expect() { # expect NAME STATUS PATTERN COMMAND…: the status, and a pattern of grep's for a line of what it writes
    local name=$1 wanted=$2 pattern=$3 status=0 output
    shift 3
    output=$("$@" 2>&1) || status=$?
    if [ "$status" = "$wanted" ] && grep -q "$pattern" <<<"$output" && ! [ -e "$folder/ran" ]; then
        passed=$((passed + 1))
    else
        echo "FAILED $name: status $status: $output"
        failed=$((failed + 1))
    fi
}

# A tree in which what the tools would run leaves a mark.
mkdir -p "$folder/tools" "$folder/build" "$folder/bin"
cp tools/build tools/package tools/site "$folder/tools"
for program in tools/setup bin/cmake bin/cpack bin/luajit; do
    printf '#!/bin/sh\ntouch "%s/ran"\n' "$folder" >"$folder/$program"
    chmod +x "$folder/$program"
done
export PATH="$folder/bin:$PATH"
for tool in build package site; do
    expect "$tool --help" 0 "^tools/$tool" "$folder/tools/$tool" --help
done
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$folder/before" >"$folder/build/CMakeCache.txt"
expect "a tree that has moved" 1 "$folder/before, and this tree has moved: delete build/" "$folder/tools/build"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$folder" >"$folder/build/CMakeCache.txt"
touch "$folder/build/build.ninja"
if "$folder/tools/build" && [ -e "$folder/ran" ]; then
    passed=$((passed + 1))
else
    echo "FAILED a tree that stands where it was is not built"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
