#!/usr/bin/env bash
# words_test.sh (release build only): docs/words.md is true of the code. Each word names a type, a function or a file
# that exists, no word has two lines, and no identifier of the code has a name that a word has replaced.
set -eu
cd "$(dirname "$0")/../.."
page=docs/words.md passed=0 failed=0

check() { # check TEXT COMMAND…: counts whether the command succeeds
    local text=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$page: $text"
    fi
}

mapfile -t files < <(find engine formats effects lazy mesh interp stdlib -name '*.[ch]' -o -name '*.lua')
# "IDENTIFIER FILE", each once.
places=$(grep -oE '[A-Za-z_][A-Za-z0-9_]*' "${files[@]}" | awk -F: '!seen[$0]++ { print $2, $1 }')
identifiers=$(cut -d' ' -f1 <<<"$places" | sort -u)

exists() { # exists NAME: an identifier or a path
    if [[ $1 == */* ]]; then [ -e "$1" ]; else grep -qxF "$1" <<<"$identifiers"; fi
}

# The table of words: "WORD|NAME" a line.
words=$(awk -F' *[|] *' '/^\| not \|/ { exit }
    /^\| [a-z]/ && $2 != "word" { gsub(/`/, "", $4); print $2 "|" $4 }' "$page")
while IFS='|' read -r word name; do
    check "the code has no $name, which shows the word '$word'" exists "$name"
done <<<"$words"
check "a word has two lines" [ -z "$(cut -d'|' -f1 <<<"$words" | sort | uniq -d)" ]
check "the words were not found" [ "$(wc -l <<<"$words")" -ge 50 ]

# What was replaced: "PATTERN|WORD|PATH" a line, one for each pattern; the path is where the name may be.
replaced=$(awk -F' *[|] *' '/^\| not \|/ { on = 1; next } on && /^\| `/ {
    n = split($2, patterns, /, */)
    for (k = 1; k <= n; k++) { gsub(/`/, "", patterns[k]); print patterns[k] "|" $3 "|" $4 }
}' "$page")
while IFS='|' read -r pattern word path; do
    found=$(awk -v pattern="^${pattern//\*/.*}$" -v path="$path" \
        '$1 ~ pattern && !(path != "" && index($2, path) == 1) { print $1 " of " $2; exit }' <<<"$places")
    check "$found is called by a name that '$word' has replaced" [ -z "$found" ]
done <<<"$replaced"
check "what was replaced was not found" [ "$(wc -l <<<"$replaced")" -ge 10 ]

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
