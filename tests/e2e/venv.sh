#!/usr/bin/env bash
# Makes the virtual environment with the PyTorch that the end-to-end tests use besides Debian's, and prints the path of
# its python. Does nothing when it is there. Fails, in words, when it can't be made (no network, no wheel).
set -euo pipefail
torch_version=2.13.0
folder=${MUSTER_TEST_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/muster-tests/venv}

is_ready() {
  "$folder/bin/python" -c "import sklearn, torch; assert torch.__version__.split('+')[0] == '$torch_version'" 2>/dev/null
}

if ! is_ready; then
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check "torch==$torch_version" numpy scikit-learn; } \
    >"$log" 2>&1 || ! is_ready; then
    tail -n 10 "$log" >&2
    echo "venv.sh: PyTorch $torch_version could not be installed into $folder (above is what pip said)." >&2
    rm -rf "$folder"
    exit 1
  fi
fi
echo "$folder/bin/python"
