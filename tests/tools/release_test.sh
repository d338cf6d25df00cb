#!/usr/bin/env bash
# release_test.sh (release build only): what tools/release refuses, and what it makes without building: in a clone of a
# few files.
set -eu
cd "$(dirname "$0")/../.."
command -v git >/dev/null || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0 failed=0

mkdir -p "$folder/tools" "$folder/tests/lib" "$folder/docs/releases"
cp tools/release "$folder/tools"
cp tests/lib/clean_root.sh "$folder/tests/lib"
cp CMakeLists.txt neap-scm-1.rockspec "$folder"
version=$(sed -n 's/^project(neap VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
cd "$folder"
export GIT_AUTHOR_NAME=ada GIT_AUTHOR_EMAIL=ada@nobody.invalid GIT_COMMITTER_NAME=ada GIT_CONFIG_GLOBAL=/dev/null
export GIT_COMMITTER_EMAIL=ada@nobody.invalid
git init -q
echo /build/ >.gitignore

commit() { # commit TEXT: all that is there
    git add -A
    git commit -q -m "$1"
}

expect() { # expect NAME STATUS PATTERN OPTIONS…: how tools/release ends, and a pattern of grep's for what it says
    local name=$1 wanted=$2 pattern=$3 status=0 output
    shift 3
    output=$(tools/release "$@" 2>&1) || status=$?
    if [ "$status" = "$wanted" ] && grep -q -e "$pattern" <<<"$output"; then
        passed=$((passed + 1))
    else
        echo "FAILED $name: status $status: $output"
        failed=$((failed + 1))
    fi
}

holds() { # holds NAME COMMAND…: whether the command succeeds
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAILED $name"
        failed=$((failed + 1))
    fi
}

echo "## $version, not released yet" >CHANGELOG.md
commit "first: begin"
expect "a step that there is not" 1 "there is no step 'nosuch'" --only nosuch
expect "a list of steps" 0 "tag  .*(not asked for: --tag)" --dry-run
holds "--dry-run makes nothing" test ! -e build
expect "a section without a date" 1 "has no heading '## $version, YYYY-MM-DD'" --only tree
echo "## $version, 2026-12-01" >CHANGELOG.md
commit "second: date it"
expect "no notes" 1 "there is no docs/releases/$version.md" --only tree
echo "# neap $version" >"docs/releases/$version.md"
expect "a file that is not committed" 1 "the tree has changes" --only tree
commit "third: tell of it"
expect "a tree as it should be" 0 "tools/release: tree" --only tree

head=$(git rev-parse HEAD)
log=$folder/build/log
said() { printf '%s\n' "$1" "release  a_test.lua  1 passed" "$2" >"$log"; }
all="tools/test: neap $version, commit"
said "$all $(git rev-parse HEAD~)" "1 passed, 0 failed, 0 skipped"
expect "a log of another commit" 1 "is not of all tests on commit $head" --only tests --log "$log"
said "$all $head, changed" "1 passed, 0 failed, 0 skipped"
expect "a log of a changed tree" 1 "is not of all tests" --only tests --log "$log"
said "tools/test --fast views: neap $version, commit $head" "1 passed, 0 failed, 0 skipped"
expect "a log of some tests" 1 "is not of all tests" --only tests --log "$log"
said "$all $head" "1 passed, 1 failed, 0 skipped"
expect "a log of failures" 1 "tests failed" --only tests --log "$log"
said "$all $head" "2 passed, 0 failed, 1 skipped"
expect "a good log" 0 "tools/release: tests" --only tests --log "$log"

expect "the archive" 0 "neap-$version.tar.gz" --only source
archive=build/release/$version/neap-$version.tar.gz
holds "the archive names its commit" grep -qx "commit $head" <(tar -xOzf "$archive" "neap-$version/RELEASE")
first=$(sha256sum "$archive")
rm build/release/work/source.done
expect "the archive again" 0 "tools/release: source" --only source
holds "the same bytes" test "$first" = "$(sha256sum "$archive")"

expect "sums before all is done" 1 "sums wants the step packages done" --only sums
for step in packages again rock site parts; do echo "$head" >"build/release/work/$step.done"; done
expect "sums" 0 "SHA256SUMS" --only sums
holds "the sums are right" bash -c "cd 'build/release/$version' && sha256sum --quiet -c SHA256SUMS"
expect "without --tag" 0 "SHA256SUMS"
holds "there is no tag" test -z "$(git tag)"
expect "--tag" 0 "tools/release: tag" --tag
holds "the tag" test "$(git rev-parse "v$version^{commit}")" = "$head"
echo >>CHANGELOG.md
commit "fourth: change something"
expect "a version that another commit has" 1 "v$version is another commit: raise the version" --only tree

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
