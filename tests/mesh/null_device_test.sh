#!/usr/bin/env bash
# null_device_test.sh (release build only, starts first): the Lua tests of this folder on devices with a memory of their
# own, at the size of sanitized builds.
exec bash tests/lib/null_device.sh mesh
