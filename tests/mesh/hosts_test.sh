#!/usr/bin/env bash
# hosts_test.sh (release build only; starts first): training by four hosts, each with a process, over TCP: the losses
# are those of one process. A host dies, is cut off, or stops, a process of it stops: all others name process, host and
# line within NEAP_COMM_TIMEOUT and end, and two hosts go on from the last checkpoint with the same losses. A host that
# is slow, or cut off for a moment, changes nothing.
#
# It waits for minutes, so it wants `tools/test --long`, and what tests/lib/hosts.sh needs.
set -u
passed=0 failed=0
. tests/lib/hosts.sh

skip() {
    echo "skipped training by several hosts: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

[ -n "${NEAP_TEST_LONG:-}" ] || skip "it waits for minutes: tools/test --long runs it"
neap=$(realpath "$NEAP")
[ -f "$(dirname "$neap")/neap_mpi.so" ] || skip "neap was built without MPI"
why=$(hosts_lack)
[ -z "$why" ] || skip "$why"

work=$(mktemp -d)
trap 'hosts_remove; rm -rf "$work"' EXIT
hosts_make 4 "$work" || skip "no hosts can be made here"
script=$PWD/tests/mesh/hosts_train.lua
steps=12 timeout=14 limit=90 # longer than mpirun takes to notice that a host is cut off

check() { # check NAME COMMAND…
    local name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'failed: %s\n%s\n%s\n' "$name" "$(tail -n 5 "$work/out")" "$(tail -n 30 "$work/err")"
    fi
}

losses() { grep '^step' "$work/out"; }

# train HOSTS DEVICES FOLDER STEPS PAUSE: in the background; its process is $run.
train() {
    : >"$work/out"
    hosts_mpirun "$1" -x NEAP_COMM_TIMEOUT=$timeout "$neap" --devices "$2" "$script" "$3" "$4" "$5" \
        >"$work/out" 2>"$work/err" &
    run=$!
}

reach() { # reach STEP: waits until training is there
    local k
    for k in $(seq 300); do
        ! grep -q "^step[[:space:]]$1[[:space:]]" "$work/out" || return 0
        sleep 0.1
    done
}

# finish: waits for the end of training, whose status is in $status; 124: it has not come to its end.
finish() {
    if timeout "$limit" tail --pid="$run" -f /dev/null; then
        wait "$run"
        status=$?
    else
        status=124
        for k in 1 2 3 4; do hosts_signal "$k" KILL; done
        wait "$run" 2>/dev/null
    fi
}

# told: each of the processes 0, 1 and 3 has named process 2, its host and the line; or, where mpirun was there first,
# the line, and one of them the rest.
told() {
    local process line="hosts_train.lua:[0-9]*" some=no
    for process in 0 1 3; do
        if grep -q "^neap: \[process $process\] .*$line.*process 2 on node3" "$work/err"; then
            some=yes
        elif ! grep -q "^neap: \[process $process\] terminated (SIGTERM) at .*$line; collective" "$work/err"; then
            return 1
        fi
    done
    [ $some = yes ]
}

await_told() { # … within the time, and a few seconds more, on a busy machine
    local k
    for k in $(seq $((10 * timeout + 100))); do
        ! told || return 0
        sleep 0.1
    done
    return 1
}

"$neap" --devices 4 "$script" "$work/alone" $steps >"$work/expected"
train 4 1 "$work/same" $steps 0
finish
check "four hosts end" test "$status" = 0
check "with the losses of one process" cmp "$work/expected" "$work/out"

# go_on NAME: two hosts go on from the checkpoint, with two devices each.
go_on() {
    local before
    before=$(losses)
    train 2 2 "$work/$1" $steps 0
    finish
    check "$1: two hosts go on" grep -q '^goes on behind step' "$work/out"
    check "$1: with the same losses" cmp "$work/expected" <(printf '%s\n' "$before" "$(losses)" | sort -u -k2,2n)
}

for fate in dies stops process-stops is-cut-off; do
    train 4 1 "$work/$fate" 1000 0.2
    reach 4
    case $fate in
    dies) hosts_signal 3 KILL ;;
    stops) hosts_signal 3 STOP ;;
    process-stops) hosts_signal 3 STOP neap ;;
    is-cut-off) hosts_link 3 down ;;
    esac
    check "a host $fate: it is told" await_told
    # Open MPI's own mpirun waits for a host that answers to the network and to nobody else.
    if [ $fate = stops ]; then hosts_signal 3 CONT; fi
    finish
    check "a host $fate: all end, with a status" test "$status" != 0 -a "$status" != 124
    hosts_signal 3 KILL
    hosts_link 3 up
    go_on $fate
done

timeout=30
train 4 1 "$work/moment" $steps 0.2
reach 4
hosts_link 3 down
sleep 2
hosts_link 3 up
finish
check "a host is cut off for a moment: it goes on" test "$status" = 0
check "a host is cut off for a moment: the same losses" cmp "$work/expected" "$work/out"

hosts_rate 3 200kbit
train 4 1 "$work/slow" $steps 0
finish
check "a slow host: the end" test "$status" = 0
check "a slow host: the same losses" cmp "$work/expected" "$work/out"
hosts_rate 3 1gbit

train 4 1 "$work/own" $steps 0
finish
check "folders that are not shared: it is told" grep -q "all hosts have to share the folder" "$work/err"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
