#!/usr/bin/env bash
# luajit_test.sh (release build only): tools/luajit builds once and keeps what it built for other build folders, by what
# it was made from. Programs that only leave a mark stand in for those that fetch and compile.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/tools"
cp -r tools/luajit* "$folder/tools"

program() { # program NAME BODY
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}
program apt-get 'if [ "$1" = source ]; then echo "Version: 2.1" >luajit_2.1.dsc; fi'
program dpkg-source 'mkdir -p source/src && cd source/src && touch lua.h luaconf.h lualib.h lauxlib.h luajit.h'
program patch 'cat >/dev/null'
program make "echo built >>'$folder/marks'; echo code >source/src/luajit; echo code >source/src/libluajit.a"
program dpkg-architecture 'echo any'
program cc 'exit 0'
export PATH="$folder/bin:$PATH" XDG_CACHE_HOME="$folder/cache"

passed=0 failed=0
expect() { # expect WHAT BUILDS FOLDER [OPTION]: how often it was built by then; LuaJIT is in FOLDER
    local what=$1 builds=$2 into=$folder/$3
    shift 3
    if "$folder/tools/luajit" "$@" "$into" >"$folder/log" 2>&1 &&
        [ "$(wc -l <"$folder/marks")" -eq "$builds" ] && [ "$(cat "$into/luajit/variant")" = "checkhook 2.1" ] &&
        [ -f "$into/luajit/lib/libluajit.a" ] && [ -f "$into/luajit/bin/luajit" ] && [ -f "$into/luajit/include/lua.h" ]
    then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $what"
        cat "$folder/log" "$folder/marks"
    fi
}
expect "the first time it is built" 1 first
expect "the second time nothing is done" 1 first
expect "another folder takes what was built" 1 second
expect "--again builds" 2 second --again
expect "and keeps that" 2 third
echo "# another recipe" >>"$folder/tools/luajit"
expect "another recipe is another build" 3 fourth
expect "in a folder that has the old one, too" 3 first
unset XDG_CACHE_HOME HOME
expect "without a home it is built, and not kept" 4 fifth
expect "by each folder" 5 sixth
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
