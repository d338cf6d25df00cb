#!/usr/bin/env bash
# first_run_test.sh (release build only; starts first): the first hour with neap on a bare Debian 12. An ordinary user
# without sudo, in a folder with a blank in its name, does what README.md says: what is missing is named with the
# command that installs it; with no more than that, and without a network, the main job runs; then with everything the
# tests run, and processes by MPI.
#
# It builds twice, so it wants `tools/test --long`, and what tests/lib/clean_root.sh needs.
set -u
passed=0 failed=0
. tests/lib/clean_root.sh

skip() {
    echo "skipped the first run in a clean root: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

[ -n "${NEAP_TEST_LONG:-}" ] || skip "it builds neap twice: tools/test --long runs it"
why=$(clean_root_lacks)
[ -z "$why" ] || skip "$why"
git rev-parse --git-dir >/dev/null 2>&1 || skip "this is no clone"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
why=$(clean_root_make "$root") || skip "$why"
clean_root_seconds=5400
output="" status=0

run() { # run root|ada COMMAND: in the root, ada in the tree; what it writes, and its status
    if [ "$1" = root ]; then
        output=$(clean_root_run "$root" "$2")
    else
        output=$(clean_root_user "$root" "cd 'my neap' && { $2; }")
    fi
    status=$?
}

expect() { # expect NAME STATUS PATTERN…: how the last command ended, and patterns of grep's for lines that it wrote
    local name=$1 wanted=$2 pattern good=yes
    shift 2
    [ "$status" = "$wanted" ] || good=no
    for pattern; do
        grep -q -e "$pattern" <<<"$output" || good=no
    done
    if [ $good = yes ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'failed: %s: status %s, expected %s with: %s\n%s\n' "$name" "$status" "$wanted" "$*" \
            "$(tail -n 30 <<<"$output")"
    fi
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

clean_root_add_user "$root" >"$work/log" || finish
mkdir "$root/home/ada/my neap"
git ls-files -z | tar --null -T - -cf - | tar -C "$root/home/ada/my neap" -xf -
run root 'chown -R ada: /home/ada'

# ---- With nothing but Debian's smallest set, and no rights -----------------------------------------------------------
run ada 'tools/run'
expect "what is missing is named" 1 \
    'no sudo, and neap cannot be built without these' 'neap will lack what these are for'
command="^    apt-get update && apt-get install -y --no-install-recommends "
required=$(grep "$command" <<<"$output" | tail -n 1)
optional=$(grep "$command" <<<"$output" | head -n 1)
run root "$required"
expect "the command for what neap cannot be built without" 0
[ "$failed" -eq 0 ] || finish

# ---- With the least, offline -----------------------------------------------------------------------------------------
clean_root_offline=yes
run ada 'tools/run --epochs 1'
expect "tools/run with the least, offline" 0 'neap will lack what these are for' \
    'cannot fetch the source package of luajit' 'no Fashion-MNIST here: the script draws shapes' '^test'
[ "$failed" -eq 0 ] || finish
run ada "build/neap -e 'print(np.arange(6):reshape(2,3):sum{axis=0})'"
expect "a line of code" 0 '^\[3 5 7\]$'
run ada "build/neap -e 'print(np.ones{64, 64}:matmul(np.ones{64, 64}):sum())'"
expect "a product, without OpenBLAS" 0 '^262144'
run ada "build/neap -e 'print(np.linalg.solve(np.eye(40) * 2, np.ones(40)):sum())'"
expect "a system, without OpenBLAS" 0 '^20'
run ada 'build/neap doctor'
expect "neap doctor" 0 '^native code *none' '^MPI *none' '^gnuplot *not installed'
run ada 'cmake --install build --prefix ~/"my neap/opt"'
expect "a prefix in the sources" 1 'my neap/opt is in the folder of the sources' 'such as ~/opt/neap'
run ada 'cmake --install build --prefix ~/opt/neap >/dev/null && ~/opt/neap/bin/neap -e "print(1 + 1)"'
expect "README's prefix" 0 '^2$'
run ada 'mv "../my neap" ../moved && cd ../moved && ! tools/build; mv ../moved "../my neap"'
expect "a clone that has moved" 0 'this tree has moved: delete build/, and build again'

# ---- With everything -------------------------------------------------------------------------------------------------
clean_root_offline=no
run root "$optional"
expect "the command for what neap would lack" 0
clean_root_offline=yes
run ada 'tools/test --fast interp/command tools/help'
expect "README's second command: tests, of a build that finds what was installed since" 0 \
    '^[1-9][0-9]* passed, 0 failed, [0-9]* skipped$'
run ada 'build/neap doctor'
expect "neap doctor, with everything" 0 '^native code *LLVM' '^MPI *plugin' '^gnuplot *gnuplot'
mpirun=$(sed -n 's/^\(mpirun .*train_mesh.lua[^#]*\).*/\1/p' README.md | head -n 1)
for who in ada root; do
    line="$mpirun --data moons --epochs 1"
    if [ $who = root ]; then line="cd '/home/ada/my neap' && $line"; fi
    run $who "$line"
    expect "README's line with mpirun, by $who" 0 '^test'
done
finish
