#!/usr/bin/env bash
# package_test.sh (release build only): the Debian package, installed by apt in a clean root and used there by a user
# who is not root: prompt, scripts, libraries that are loaded by need, stock luajit; then removed.
#
# It takes minutes, so it wants `tools/test --long`, and what tests/lib/clean_root.sh needs. The packages are made of
# the build, or are those in the folder NEAP_TEST_DEBS.
set -u
passed=0 failed=0
build=$(dirname "$NEAP")
. tests/lib/clean_root.sh

skip() {
    echo "skipped the package in a clean root: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

[ -n "${NEAP_TEST_LONG:-}" ] || skip "it takes minutes: tools/test --long runs it"
if [ -z "${NEAP_TEST_DEBS:-}" ]; then # what is built here depends on this system's libraries
    clean_root_suite=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "$VERSION_CODENAME")
    [ -n "$clean_root_suite" ] || skip "this is no release of Debian"
fi
why=$(clean_root_lacks)
[ -z "$why" ] || skip "$why"
for tool in cpack dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || skip "no $tool (tools/setup --packages installs it)"
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
why=$(clean_root_make "$root") || skip "$why"
inside() { clean_root_run "$root" "$1"; }
as_user() { clean_root_user "$root" "$1"; }

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
if [ -z "${NEAP_TEST_DEBS:-}" ]; then
    output=$(cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work/packages" 2>&1)
    note $? "making the packages" "$output"
fi
cp "${NEAP_TEST_DEBS:-$work/packages}"/*.deb "$root/debs" || finish
inside 'apt-get update -q' >"$work/log" || skip "apt has no network there: $(tail -n 1 "$work/log")"
inside 'find / -xdev -path /proc -prune -o -path /dev -prune -o -print | sort' >"$work/before"
output=$(inside 'apt-get install -y -q /debs/neap_*.deb && useradd -m ada')
note $? "apt-get install" "$output"
[ "$failed" -eq 0 ] || finish

expect "the version" 'neap --version' "neap $(sed -n 's/^project(neap VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)"
expect "a line of code" "neap -e 'print(np.arange(6):reshape(2, 3):sum{axis=0})'" '[3 5 7]'
expect "a script" 'cat >try <<"END"
#!/usr/bin/env neap
print(np.grad(function(x) return (x * x):sum() end)(np.array{1, 2, 3}), ...)
END
chmod +x try; ./try it' $'[2. 4. 6.]\tit'
expect "what is loaded by need: OpenBLAS, zlib, libpng, libjpeg" "neap -e '
print(np.linalg.eigvalsh(np.eye(2) * 0.5), np.ones{100, 100}:matmul(np.ones{100, 100}):sum())
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
