#!/usr/bin/env bash
# null_device_test.sh: the Lua tests of this folder on devices with a memory of their own; release build only.
exec bash tests/lib/null_device.sh lazy
