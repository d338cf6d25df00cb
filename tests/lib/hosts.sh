# hosts.sh: hosts in one machine, for tests of several processes: network namespaces with addresses, names and files of
# their own, behind a switch, at 1 Gbit/s. For bash; mpirun reaches them without ssh.
#
#     hosts_lack                    prints why there can be none here, or nothing
#     hosts_make N FOLDER           makes node1 … nodeN; FOLDER is for files of this library's
#     hosts_mpirun N OPTION…        mpirun, on node1, with a process on each of the first N hosts, by TCP; it notices
#                                   in 7 seconds that a host does not answer
#     hosts_signal K SIGNAL [NAME]  sends a signal to all that runs on node K, or to what has this name
#     hosts_link K up|down          puts node K's cable in, or pulls it
#     hosts_rate K RATE             limits what node K sends, such as 2mbit
#     $hosts_folder/enter nodeK COMMAND…    a shell's command on node K; $hosts_folder/own is another folder on each
#     hosts_remove                  ends what runs there, and removes all
# shellcheck shell=bash
hosts_prefix=neap$$
hosts_count=0
hosts_folder=

hosts_lack() {
    local tool
    [ "$(id -u)" -eq 0 ] || { echo "it takes root's rights"; return; }
    for tool in ip tc unshare mpirun; do
        command -v $tool >/dev/null || { echo "no $tool"; return; }
    done
    if ! ip netns add "$hosts_prefix-try" 2>/dev/null; then
        echo "no network namespaces can be made here"
    elif ! ip -n "$hosts_prefix-try" link add bridge type bridge 2>/dev/null; then
        echo "no bridge can be made here"
    fi
    ip netns delete "$hosts_prefix-try" 2>/dev/null || true
}

hosts_make() {
    local k name switch=$hosts_prefix-0
    hosts_folder=$2
    ip netns add "$switch"
    ip -n "$switch" link add bridge type bridge
    ip -n "$switch" link set bridge up
    echo "127.0.0.1 localhost" >"$hosts_folder/hosts"
    mkdir -p "$hosts_folder/own"
    for k in $(seq "$1"); do
        name=$hosts_prefix-$k
        ip netns add "$name"
        mkdir -p "$hosts_folder/own$k"
        ip -n "$name" link set lo up
        ip -n "$name" link add eth0 type veth peer name "port$k" netns "$switch"
        ip -n "$name" address add "10.77.0.$k/24" dev eth0
        ip -n "$name" link set eth0 up
        ip -n "$switch" link set "port$k" master bridge up
        echo "10.77.0.$k node$k" >>"$hosts_folder/hosts"
        hosts_rate "$k" 1gbit
    done
    hosts_count=$1
    cat >"$hosts_folder/enter" <<END
#!/bin/sh
# enter node COMMAND…: what ssh is elsewhere.
node=\$1
shift
exec ip netns exec "$hosts_prefix-\${node#node}" unshare --mount --uts sh -c '
    hostname "\$1"
    mount --bind "$hosts_folder/hosts" /etc/hosts
    mount --bind "$hosts_folder/own\${1#node}" "$hosts_folder/own"
    shift
    exec sh -c "\$*"' sh "\$node" "\$@"
END
    chmod +x "$hosts_folder/enter"
}

hosts_mpirun() {
    local count=$1 k list=""
    shift
    for k in $(seq "$count"); do list+=${list:+,}node$k:1; done
    "$hosts_folder/enter" node1 mpirun --allow-run-as-root -quiet -n "$count" --host "$list" \
        --mca plm_rsh_agent "$hosts_folder/enter" --mca plm_rsh_no_tree_spawn 1 --mca btl tcp,self \
        --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca oob_tcp_keepalive_time 4 \
        --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 "$@"
}

hosts_signal() {
    local pid
    for pid in $(ip netns pids "$hosts_prefix-$1"); do
        if [ $# = 2 ] || [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$3" ]; then
            kill "-$2" "$pid" 2>/dev/null || true
        fi
    done
}

hosts_link() {
    ip -n "$hosts_prefix-0" link set "port$1" "$2"
}

hosts_rate() {
    tc -n "$hosts_prefix-$1" qdisc replace dev eth0 root tbf rate "$2" burst 1mb latency 500ms
}

hosts_remove() {
    local k
    for k in $(seq "$hosts_count"); do hosts_signal "$k" KILL; done
    for k in $(seq 0 "$hosts_count"); do ip netns delete "$hosts_prefix-$k" 2>/dev/null || true; done
}
