#!/usr/bin/env bash
# map_test.sh (release build only): the map in docs/tour.md names every file of the core, of the interpreter and of the
# library, in its folder, and no others; its picture has the folders in the order of tools/check_layers, the last first.
#
# In the map a heading "### FOLDER/" is followed by a table, whose rows name files in their first column, as `file.c`.
# The table below the heading of the library names a folder in its first column and Lua files, without ".lua", in its
# second.
set -eu
cd "$(dirname "$0")/../.."

named() { # named FILE: the files that the map in this page names, sorted
    awk '
        function names(cell, before, after,   n, k, words) {
            n = split(cell, words, "`")
            for (k = 2; k <= n; k += 2) print before words[k] after
        }
        /^## / { map = $0 ~ /The map$/ }
        !map { next }
        /^### / { folder = $2; next }
        /^\| `/ {
            split($0, cells, "|")
            if (folder != "stdlib/neap/") {
                names(cells[2], folder, "")
            } else {
                split(cells[2], name, "`")
                names(cells[3], folder name[2] "/", ".lua")
            }
        }' "$1" | sort
}

present() { # the files that a map has to name, sorted
    find engine formats effects lazy mesh interp \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.lua' \)
    find stdlib/neap -mindepth 2 -name '*.lua'
}

picture() { # the folders of the C files in the map's picture, from its top to its bottom
    awk '
        /^##/ { map = $0 ~ /^## .*The map$/ }
        map && /^ / { for (k = 1; k <= NF && $k ~ /\/$/; k++) print substr($k, 1, length($k) - 1) }' docs/tour.md |
        grep -v '^stdlib/'
}

order() { # the folders in the order of tools/check_layers, the last first
    sed -n '/^order=(/,/)$/p' tools/check_layers | sed 's/order=(//; s/)//' | tr -s ' ' '\n' | grep -vx 'lazy\|' | tac
}

passed=0 failed=0
expect() { # expect WHAT LINES: no line is expected
    if [ -z "$2" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        while IFS= read -r line; do echo "docs/tour.md: $1 $line"; done <<<"$2"
    fi
}

page=$(mktemp)
trap 'rm -f "$page"' EXIT
expect "the map does not name" "$(comm -13 <(named docs/tour.md | uniq) <(present | sort))"
expect "the map names what is not there:" "$(comm -23 <(named docs/tour.md | uniq) <(present | sort))"
expect "the map names twice" "$(named docs/tour.md | uniq -d)"
expect "the picture's order is another one than that of tools/check_layers:" "$(diff <(picture) <(order) || true)"

# What the test finds.
printf '%s\n' '| `outside.c` | |' '## 1. The map' '### a/' '| `x.c`, `x.h` | of `y` |' '### stdlib/neap/' \
    '| `core` | `init` `tree` | of `np` |' '## Behind it' '| `outside.c` | |' >"$page"
expect "a map is read as" "$(diff <(named "$page") \
    <(printf '%s\n' a/x.c a/x.h stdlib/neap/core/init.lua stdlib/neap/core/tree.lua) || true)"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
