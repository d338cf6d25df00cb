#!/usr/bin/env bash
# package_test.sh (release build only): the Debian package, installed by apt in a clean root and used there by a user
# who is not root: prompt, scripts, libraries that are loaded by need, stock luajit; then removed.
#
# The root is made once by debootstrap, which wants root's rights and the network, and kept in
# build/deps/clean_root.tar. It takes minutes, so it wants `tools/test --long`; without that, and without these, it is
# skipped.
set -u
passed=0 failed=0
build=$(dirname "$NEAP")
kept=$build/deps/clean_root.tar
mirror=http://deb.debian.org/debian

skip() {
    echo "skipped the package in a clean root: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

[ -n "${NEAP_TEST_LONG:-}" ] || skip "it takes minutes: tools/test --long runs it"
[ "$(id -u)" -eq 0 ] || skip "it takes root's rights"
for tool in cpack debootstrap unshare chroot dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || skip "no $tool (tools/setup --packages installs it)"
done
unshare --mount --pid --fork true 2>/dev/null || skip "no namespaces here"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
if [ ! -f "$kept" ]; then
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$suite" ] || skip "this is no release of Debian"
    timeout 500 debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
        skip "debootstrap cannot make one: $(tail -n 1 "$work/log")"
    tar -C "$root" -cf "$kept.$$" . && mv "$kept.$$" "$kept"
else
    mkdir "$root" && tar -C "$root" -xf "$kept"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"

# inside COMMAND: runs it in the clean root, as root; as_user: as a new user, in his home.
inside() {
    unshare --mount --pid --fork bash -c '
        mount -t proc proc "$0/proc"
        mount -t sysfs sysfs "$0/sys" || true
        mount --rbind /dev "$0/dev"
        exec env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin TERM=xterm LC_ALL=C.UTF-8 HOME=/root \
            DEBIAN_FRONTEND=noninteractive timeout 300 chroot "$0" bash -c "$1"' "$root" "$1" 2>&1 </dev/null
}
as_user() {
    printf '%s\n' 'export PATH=/usr/bin:/bin HOME=/home/ada' 'cd' "$1" >"$root/home/ada/.command"
    inside 'setpriv --reuid=ada --regid=ada --init-groups bash /home/ada/.command'
}

note() { # note STATUS NAME TEXT
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'failed: %s\n%s\n' "$2" "$(tail -n 20 <<<"$3")"
    fi
}

expect() { # expect NAME COMMAND OUTPUT: what a user sees
    local output
    output=$(as_user "$2")
    [ "$output" = "$3" ]
    note $? "$1" "$output"
}

finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
    exit
}

mkdir "$root/debs"
output=$(cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" 2>&1)
note $? "making the packages" "$output"
cp "$work"/packages/*.deb "$root/debs" || finish
inside 'apt-get update -q' >"$work/log" || skip "apt has no network there: $(tail -n 1 "$work/log")"
inside 'find / -xdev -path /proc -prune -o -path /dev -prune -o -print | sort' >"$work/before"
output=$(inside 'apt-get install -y -q /debs/neap_*.deb && useradd -m ada')
note $? "apt-get install" "$output"
[ "$failed" -eq 0 ] || finish

expect "the version" 'neap --version' "$("$NEAP" --version)"
expect "a line of code" "neap -e 'print(np.arange(6):reshape(2, 3):sum{axis=0})'" '[3 5 7]'
expect "a script" 'cat >try <<"END"
#!/usr/bin/env neap
print(np.grad(function(x) return (x * x):sum() end)(np.array{1, 2, 3}), ...)
END
chmod +x try; ./try it' $'[2. 4. 6.]\tit'
expect "what is loaded by need: OpenBLAS, zlib, libpng, libjpeg" "neap -e '
print(np.linalg.solve(np.eye(2) * 2, np.ones(2)), np.ones{100, 100}:matmul(np.ones{100, 100}):sum())
np.io.savez(\"a.npz\", {x = np.arange(3)}, {compress=true})
print(np.io.load(\"a.npz\").x)
for _, name in ipairs{\"a.png\", \"a.jpg\"} do
    np.io.save_image(name, np.full({8, 8, 3}, 200, {dtype=\"u8\"}))
    print(np.io.load_image(name):astype(\"f32\"):mean())
end'" $'[0.5 0.5]\t1e+06\n[0 1 2]\n200.0\n200.0'
output=$(as_user "(printf '1 + 1\nx = np.ones(2)\nx * 3\n'; sleep 2) | TERM=dumb script -qec neap /dev/null")
grep -q '^2' <<<"${output//$'\r'/}" && grep -q '\[3. 3.\]' <<<"$output"
note $? "the prompt" "$output"
output=$(as_user 'cp -r /usr/share/doc/neap/scripts . && cd scripts &&
    neap classify_images.lua --data shapes --epochs 1 && ls')
grep -q 'test' <<<"$output" && ! grep -q 'manifest\|\.svg' <<<"$output"
note $? "training, which writes no file that nobody asked for" "$output"
output=$(as_user 'neap doctor')
grep -q openblas <<<"$output"
note $? "neap doctor" "$output"
output=$(inside 'cd /usr && for f in bin/neap lib/libneap.so share/man/man1/neap.1 share/doc/neap/copyright \
    share/doc/neap/docs/guides/numpy.md share/doc/neap/examples/embed/Makefile include/neap/neap.h \
    share/bash-completion/completions/neap share/zsh/vendor-completions/_neap; do
        [ -f $f ] || [ -f $f.gz ] || echo $f
    done')
[ -z "$output" ]
note $? "files that are missing" "$output"

output=$(inside 'apt-get install -y -q --no-install-recommends luajit')
note $? "apt-get install luajit" "$output"
expect "stock luajit" "luajit -e 'local np = require \"neap\"; print(np.arange(4):sum())'" 6

if ls "$root"/debs/neap-native_*.deb >/dev/null 2>&1; then
    output=$(inside 'apt-get install -y -q /debs/neap-native_*.deb')
    note $? "apt-get install neap-native" "$output"
    expect "native code" "neap doctor | grep -c '^native code *LLVM'" 1
    inside 'apt-get purge -y -q neap-native' >/dev/null
fi

output=$(inside 'apt-get install -y -q /debs/neap-mpi_*.deb gcc libc6-dev make pkg-config libluajit-5.1-dev')
note $? "apt-get install neap-mpi and a compiler" "$output"
expect "two processes" "mpirun --oversubscribe -quiet -n 2 neap -e 'print(np.process_count())'" 2
output=$(as_user 'cp -r /usr/share/doc/neap/examples . && cd examples/embed && make -s && ./embed &&
    cd .. && gcc -o engine engine.c $(pkg-config --cflags --libs neap) && ./engine')
note $? "the examples in C" "$output"
grep -q 'weight 2: 3.00' <<<"$output"
note $? "what they print" "$output"
inside 'apt-get purge -y -q neap-mpi' >/dev/null

output=$(inside 'apt-get purge -y -q neap && find /usr /etc /var/lib -name "*neap*" -not -path "/var/lib/dpkg/*"')
note $? "apt-get purge" "$output"
[ -z "$(grep '^/' <<<"$output")" ]
note $? "nothing stays behind" "$output"
finish
