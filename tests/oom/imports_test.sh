#!/usr/bin/env bash
# imports_test.sh (release build only): what makes native code asks the system for memory only by functions that it has
# replaced (lazy/native/plugin/memory.c): LLVM ends the process, or crashes, where one of the others finds none.
set -eu
plugin=$(dirname "$NEAP")/neap_native.so
if [ ! -f "$plugin" ] || ! command -v nm >/dev/null; then
    echo "skipped: there is no $plugin, or no nm"
    echo "0 passed, 0 failed, 1 skipped"
    exit
fi
others=$(nm -D --undefined-only "$plugin" | sed 's/.* U //; s/@.*//' |
    grep -xE 'strdup|strndup|memalign|posix_memalign|valloc|pvalloc|v?asprintf|getline|getdelim|_Zn[wa].*' || true)
if [ -n "$others" ]; then
    echo "FAILED: it imports $others"
    echo "0 passed, 1 failed"
    exit 1
fi
echo "1 passed, 0 failed"
