#!/usr/bin/env bash
# once_test.sh (release build only): tools/once makes a file once for all build folders, by the words of its command and
# by what the files say that it is made from.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/first" "$folder/second"
echo one >"$folder/source"
echo two >"$folder/header"

passed=0 failed=0
# expect WHAT TIMES FOLDER WORD: how often the file was made by then; that in FOLDER holds what stands in the sources.
expect() {
    local output=$folder/$3/made
    if tools/once "$folder/kept" "$folder/$3" "$output" "$folder/source" "$folder/header" -- \
        sh -c 'echo "$1" >>"$2/marks"; cat "$2/source" "$2/header" >"$3"' "$folder/$3/bin" "$4" "$folder" "$output" &&
        [ "$(wc -l <"$folder/marks")" -eq "$2" ] && cat "$folder/source" "$folder/header" | cmp - "$output"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
        cat "$folder/marks"
    fi
}
expect "the first time it is made" 1 first word
expect "the second time it is taken" 1 first word
expect "another folder takes it" 1 second word
expect "another command makes it" 2 second words
echo three >"$folder/header"
expect "another file makes it" 3 first words
expect "which the other folder takes" 3 second words
echo two >"$folder/header"
expect "one version is kept" 4 first words
if [ "$(ls -A "$folder/kept" | wc -l)" -eq 1 ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAILED: old versions are there:"
    ls -A "$folder/kept"
fi
if ! tools/once "$folder/kept" "$folder/first" "$folder/first/none" "$folder/source" -- false &&
    [ "$(ls -A "$folder/kept" | wc -l)" -eq 1 ]; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
    echo "FAILED: a command that fails"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
