#!/usr/bin/env bash
# columnar_pyarrow_test.sh (release build only): what np.io writes as columns, pyarrow and pandas read: the Python
# NEAP_PEERS_PYTHON (else python3) runs columnar_pyarrow_test.py, if it has them.
set -u
python=${NEAP_PEERS_PYTHON:-python3}
if ! "$python" -c "import pyarrow, pandas" 2>/dev/null; then
    echo "skipped: files that pyarrow reads: $python has no pyarrow and pandas"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$(dirname "$0")/columnar_pyarrow_test.py"
