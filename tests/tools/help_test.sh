#!/usr/bin/env bash
# help_test.sh (release build only): every tool of tools/ prints its help and does nothing else; tools/build says what
# to do where a tree has moved after it was built, and tools/setup which command installs what is missing.
set -eu
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

expect() { # expect NAME STATUS PATTERN COMMAND…: the status, and a pattern of grep's for a line of what it writes
    local name=$1 wanted=$2 pattern=$3 status=0 output before
    shift 3
    before=$(find "$folder" | sort)
    output=$("$@" 2>&1) || status=$?
    if [ "$status" = "$wanted" ] && grep -q -e "$pattern" <<<"$output" &&
        [ "$before" = "$(find "$folder" | sort)" ]; then
        passed=$((passed + 1))
    else
        echo "FAILED $name: status $status: $output"
        failed=$((failed + 1))
    fi
}

stand_in() { # stand_in NAME TEXT: a program of the shell's in place of another one
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/$1"
    chmod +x "$folder/$1"
}

# A tree in which what the tools would run leaves a mark.
mkdir -p "$folder/tools" "$folder/build" "$folder/bin" "$folder/few"
for tool in tools/*; do
    [ ! -x "$tool" ] || [ -d "$tool" ] || cp "$tool" "$folder/tools"
done
for program in cmake cpack luajit apt-get sudo git; do stand_in "bin/$program" "touch '$folder/ran'"; done
path=$PATH
export PATH="$folder/bin:$PATH"
for tool in "$folder"/tools/*; do
    name=$(basename "$tool")
    expect "$name --help" 0 "^\(tools/\)\?$name" "$tool" --help
done

# What is missing: here, all that one list has, for a user without sudo.
for program in bash dirname env sed; do ln -s "$(PATH=$path command -v $program)" "$folder/few/$program"; done
stand_in few/id 'echo 1000'
stand_in few/apt-get 'exit 1'
for list in required optional; do
    stand_in few/dpkg-query "case \$4 in cmake) [ $list = required ] || echo installed ;;
        openmpi-bin) [ $list = optional ] || echo installed ;; *) echo installed ;; esac"
    missing=cmake status=1
    if [ $list = optional ]; then missing=openmpi-bin status=0; fi
    expect "what is missing of the list $list" $status \
        "^    apt-get update && apt-get install -y --no-install-recommends $missing\$" \
        env PATH="$folder/few" "$folder/tools/setup"
done

stand_in tools/setup "touch '$folder/ran'"
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
rm "$folder/ran"
stand_in tools/setup 'case $* in --found) echo a package ;; esac'
stand_in bin/cmake "echo \"\$*\" >>'$folder/ran'"
"$folder/tools/build"
"$folder/tools/build"
if [ "$(cat "$folder/ran")" = '--preset release -U NEAP_HAVE_* -U MPI_*'$'\n--build build\n--build build' ]; then
    passed=$((passed + 1))
else
    echo "FAILED packages that came are looked for once: $(cat "$folder/ran")"
    failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
