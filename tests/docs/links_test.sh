#!/usr/bin/env bash
# links_test.sh (release build only): what the pages in the root, in docs/, docs/guides/ and docs/releases/ refer to is
# there: files of links, and files that are named by their path from the root, where * stands for any text.
set -eu
cd "$(dirname "$0")/../.."

links() { # links PAGE: "LINE:PATH" of each link to a file
    grep -noE '\]\([^)# ]+' "$1" | sed 's/](//' | grep -vE ':[a-z]+://' || true
}

paths() { # paths PAGE: "LINE:PATH" of each path from the root
    local roots='engine|effects|lazy|mesh|interp|stdlib|tests|tools|bench|scripts|examples|docs'
    grep -noE "(^|[ (\`])($roots)/[a-zA-Z0-9_/*.-]+" "$1" |
        sed -E 's/:[ (`]/:/; s/[.,]+$//' | grep -E '\.(c|h|lua|sh|md|py)$' || true
}

passed=0 failed=0
# expect PAGE LINE PATH: something has this name
expect() {
    if compgen -G "$3" >/dev/null; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1:$2: there is no $3"
    fi
}

for page in *.md docs/*.md docs/guides/*.md docs/releases/*.md; do
    while IFS=: read -r line path; do expect "$page" "$line" "$(dirname "$page")/$path"; done < <(links "$page")
    while IFS=: read -r line path; do expect "$page" "$line" "$path"; done < <(paths "$page")
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
