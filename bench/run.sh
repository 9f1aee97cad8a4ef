#!/usr/bin/env bash
# Builds release, installs the peers, measures, and writes bench/results/RESULTS.md with its plots.
#
#   bench/run.sh --quick     within ten minutes after the build and the installing (the default)
#   bench/run.sh --full      everything, with as many runs as the targets ask for: 70 minutes
#   bench/run.sh --smoke     checks that it works, under a minute; no peers, writes nothing (tests/run.sh calls this)
#
# Further words go to run.py: --only WORD, --budget SECONDS, --out FOLDER, --publish (into bench/ itself). A peer that
# can't be installed is reported as not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
mode=--quick
words=()
for word in "$@"; do
  case $word in
    --quick | --full | --smoke) mode=$word ;;
    *) words+=("$word") ;;
  esac
done
torchft_version=0.2.0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/muster-bench
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
export MUSTER_BIN=$root/build/bin

log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {  # shows its output only when it fails
  "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; return 1; }
}

# The report has a sentence for each peer that can't be installed: why NAME.
why() { tail -n 1 "$log" | cut -c 1-300; }

install_peers() {
  quietly bash deploy/install-deps.sh --bench ||
    echo "Debian's etcd or matplotlib could not be installed: measured without."
  local name python
  for name in torch mindspore; do
    if python=$(bash tests/e2e/venv.sh "$name" 2>"$log"); then
      export "MUSTER_BENCH_${name^^}_PYTHON=$python"
    else
      export "MUSTER_BENCH_${name^^}_WHY=$(why)"
    fi
  done
  # Installs only torchft's own server, without a second PyTorch for it.
  local folder=$cache/torchft-$torchft_version
  if [[ ! -d $folder/torchft && -n ${MUSTER_BENCH_TORCH_PYTHON:-} ]]; then
    "$MUSTER_BENCH_TORCH_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps --target "$folder" \
      "torchft==$torchft_version" >"$log" 2>&1 || { export MUSTER_BENCH_TORCHFT_WHY; MUSTER_BENCH_TORCHFT_WHY=$(why); }
  fi
  if [[ -d $folder/torchft ]]; then
    export MUSTER_BENCH_TORCHFT=$folder MUSTER_BENCH_TORCHFT_VERSION=$torchft_version
  fi
}

build() {
  # A build folder that was configured with another generator is used as it is.
  if [[ -f build/CMakeCache.txt ]]; then quietly cmake -S . -B build; else quietly cmake --preset release; fi
  quietly cmake --build build --parallel "$(nproc)" --target ms-scheduler ms-worker ms-ctl bench
}

quietly bash deploy/install-deps.sh
if [[ $mode != --smoke ]]; then install_peers; fi
build
type=$(sed -n 's/^CMAKE_BUILD_TYPE:[^=]*=//p' build/CMakeCache.txt)
if [[ $mode != --smoke && $type != Rel* ]]; then
  echo "bench/run.sh: the folder build is configured as '$type': its figures would mean nothing. Remove it." >&2
  exit 1
fi
/usr/bin/python3 bench/run.py "$mode" "${words[@]}"
