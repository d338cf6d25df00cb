#!/usr/bin/env bash
# peers_test.sh (release build only): each name of NumPy, JAX and PyTorch in tools/gen/names.txt is there, and each of
# their usual functions has a line; of the packages that the Python NEAP_PEERS_PYTHON (else python3) has.
# tests/requirements.txt has the versions that the lines are of; with another one some names may differ.
set -u
python=${NEAP_PEERS_PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
    echo "skipped: names of NumPy, JAX and PyTorch: no $python"
    echo "0 passed, 0 failed, 3 skipped"
    exit 0
fi
exec "$python" "$(dirname "$0")/peers_test.py"
