#!/usr/bin/env bash
# version_test.sh (release build only): one version everywhere. CMakeLists.txt states it; what is built of it, and the
# texts that a release needs, say the same.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(dirname "$NEAP")
version=$(sed -n 's/^project(neap VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
passed=0 failed=0

same() { # same WHERE FOUND [EXPECTED]
    if [ "$2" = "${3:-$version}" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$1: '$2', where CMakeLists.txt has $version"
    fi
}

[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
same "the form of the version, three numbers" $? 0

# What was built.
same "neap --version" "$("$NEAP" --version)" "neap $version"
same "np._VERSION" "$("$NEAP" -e 'print(np._VERSION)')"
same "neap doctor" "$("$NEAP" doctor | sed -n 's/^neap *\([0-9.]*\),.*/\1/p')"
"$NEAP" --trace "$build/version_test.json" -e 'print(np.ones(2):sum())' >/dev/null
same "a timeline" "$(grep -o '"version":"neap [0-9.]*"' "$build/version_test.json")" "\"version\":\"neap $version\""
rm -f "$build/version_test.json"
same "the file of libneap.so" "$(readlink -f "$build/libneap.so")" "$(readlink -f "$build")/libneap.so.$version"
same "its soname" "$(readelf -d "$build/libneap.so" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')" \
    "libneap.so.${version%.*}"
same "pkg-config" "$(sed -n 's/^Version: //p' "$build/neap.pc")"
same "the manual page" "$(grep -o '"neap [0-9.]*"' "$build/generated/command_line/neap.1")" "\"neap $version\""
same "packages" "$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' "$build/CPackConfig.cmake")"

# What is written.
same "CHANGELOG.md, its first release" "$(sed -n 's/^## \([0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)"
same "CITATION.cff" "$(sed -n 's/^version: //p' CITATION.cff)"
same "docs/releases/$version.md, its title" "$(head -n 1 "docs/releases/$version.md")" "# neap $version"
same "the rock of a release" "$(tools/release --rockspec | sed -n 's/^version = "\(.*\)"/\1/p')" "$version-1"
while IFS=: read -r page line found; do
    same "$page:$line" "${found##*[_ -]}"
done < <(grep -noE 'neap(-[a-z]+)?[ _-][0-9]+\.[0-9]+\.[0-9]+' README.md CONTRIBUTING.md docs/*.md packaging/*)

# What docs/stability.md says of other numbers.
stated() { # stated PATTERN: the number behind these words
    tr '\n' ' ' <docs/stability.md | grep -oE "$1[0-9.]+[0-9]|$1[0-9]" | head -n 1 | grep -oE '[0-9][0-9.]*$'
}
same "the soname in docs/stability.md" "$(stated 'libneap\.so\.')" "${version%.*}"
same "the format of programs there" "$(stated 'version of the format, now ')" \
    "$(sed -n 's/^local MAGIC, VERSION = .*, \([0-9]*\) --.*/\1/p' stdlib/neap/programs/program_file.lua)"
same "that of checkpoints" "$(stated 'version of their manifest, now ')" \
    "$(sed -n 's/^local FORMAT, VERSION, NAME = .*, \([0-9]*\), .*/\1/p' stdlib/neap/io/manifest.lua)"
same "the interface of plugins" "$(stated 'NEAP_DEVICE_ABI., now ')" \
    "$(sed -n 's/^enum { NEAP_DEVICE_ABI = \([0-9]*\) };.*/\1/p' engine/device.h)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
