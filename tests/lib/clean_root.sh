# clean_root.sh: a bare Debian in a folder, for tests of what is installed there, and for tools/release. For bash.
#
#     clean_root_lacks                    prints why there can be none here, or nothing
#     clean_root_make FOLDER              makes one; on failure it prints why
#     clean_root_run FOLDER COMMAND       runs a command of the shell's in it, as root
#     clean_root_user FOLDER COMMAND      … as the user ada, in her home (clean_root_add_user makes her)
#     clean_root_offline=yes              the next ones have no network, but for the machine's own (lo)
#     clean_root_seconds=N                and this limit (300)
#     clean_root_suite=NAME               a release of Debian (bookworm, which is 12)
#
# It is Debian's smallest set of packages, made by debootstrap, which wants root's rights and the network, and kept in
# build/deps/clean_root-SUITE.tar; packages that roots install are kept in build/deps/archives, so that the next one
# need not fetch them.
# shellcheck shell=bash
clean_root_suite=bookworm
clean_root_mirror=http://deb.debian.org/debian
clean_root_deps=$PWD/build/deps
clean_root_offline=no
clean_root_seconds=300

clean_root_lacks() {
    local tool
    [ "$(id -u)" -eq 0 ] || { echo "it takes root's rights"; return; }
    for tool in debootstrap unshare chroot ip; do
        command -v $tool >/dev/null || { echo "no $tool (tools/setup --packages installs it)"; return; }
    done
    unshare --mount --pid --fork true 2>/dev/null || echo "no namespaces here"
}

clean_root_make() {
    local root=$1 kept=$clean_root_deps/clean_root-$clean_root_suite.tar
    mkdir -p "$clean_root_deps/archives/partial" "$root"
    if [ ! -f "$kept" ]; then
        if ! timeout 900 debootstrap --variant=minbase "$clean_root_suite" "$root" "$clean_root_mirror" \
            >"$root.log" 2>&1; then
            echo "debootstrap cannot make one: $(tail -n 1 "$root.log")"
            return 1
        fi
        tar -C "$root" -cf "$kept.$$" . && mv "$kept.$$" "$kept"
    else
        tar -C "$root" -xf "$kept"
    fi
    cp /etc/resolv.conf "$root/etc/resolv.conf"
}

clean_root_run() {
    local root=$1 spaces=(--mount --pid --fork)
    if [ "$clean_root_offline" = yes ]; then spaces+=(--net); fi
    # shellcheck disable=SC2016
    unshare "${spaces[@]}" bash -c '
        mount -t proc proc "$1/proc"
        mount -t sysfs sysfs "$1/sys" 2>/dev/null || true
        mount --rbind /dev "$1/dev"
        mount --bind "$3" "$1/var/cache/apt/archives"
        if [ "$5" = yes ]; then ip link set lo up; fi
        exec env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin TERM=xterm LC_ALL=C.UTF-8 HOME=/root \
            DEBIAN_FRONTEND=noninteractive timeout -k 10 "$4" chroot "$1" bash -c "$2"' \
        clean_root "$root" "$2" "$clean_root_deps/archives" "$clean_root_seconds" "$clean_root_offline" 2>&1 </dev/null
}

clean_root_add_user() {
    clean_root_run "$1" 'useradd -m -s /bin/bash ada'
}

clean_root_user() {
    printf '%s\n' 'export PATH=/usr/bin:/bin HOME=/home/ada USER=ada' 'cd' "$2" >"$1/home/ada/.command"
    clean_root_run "$1" 'setpriv --reuid=ada --regid=ada --init-groups bash /home/ada/.command'
}
