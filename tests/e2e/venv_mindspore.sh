#!/usr/bin/env bash
# Makes the virtual environment with the real MindSpore (its CPU build) for the end-to-end tests, and prints the path of
# its python. Does nothing when it is there. Fails, in words, when it can't be made (no network, no wheel for this Python:
# 2.10.0 has wheels for 3.10 to 3.12).
set -euo pipefail
version=2.10.0
folder=${MUSTER_TEST_MINDSPORE_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/muster-tests/venv-mindspore}

is_ready() {
  "$folder/bin/python" -c "import sklearn, mindspore; assert mindspore.__version__ == '$version'" 2>/dev/null
}

if ! is_ready; then
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! { python3 -m venv "$folder" &&
    "$folder/bin/pip" install --quiet --disable-pip-version-check "mindspore==$version" scikit-learn; } \
    >"$log" 2>&1 || ! is_ready; then
    tail -n 10 "$log" >&2
    echo "venv_mindspore.sh: MindSpore $version could not be installed into $folder (above is what pip said)." >&2
    rm -rf "$folder"
    exit 1
  fi
fi
echo "$folder/bin/python"
