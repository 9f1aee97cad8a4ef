#!/usr/bin/env bash
# The simulation's share of the tests. Ends with "N passed, N failed" (seeds).
#
#   tests/sim/run.sh [BUILD]          1.5 minutes and at least 2,000 seeds, up to 16 nodes, always the same seeds
#   tests/sim/run.sh --long [BUILD]   2 hours, up to 64 nodes, new seeds each time
#
# MUSTER_SIM_SECONDS and MUSTER_SIM_FIRST_SEED change the duration and the first seed.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

seconds=90 first=1 nodes=16
if [[ ${1:-} == --long ]]; then
  shift
  seconds=7200 first=$(($(date +%s) * 1000)) nodes=64
fi
build=${1:-$root/build}
program=$build/bin/muster_sim
if [[ ! -x $program ]]; then
  echo "tests/sim/run.sh: $program is not there: build the target muster_sim, or name the build folder" >&2
  exit 2
fi

log=$(mktemp -t muster-sim.XXXXXX)
trap 'rm -f "$log"' EXIT
"$program" --seeds 2000 --seconds "${MUSTER_SIM_SECONDS:-$seconds}" --first-seed "${MUSTER_SIM_FIRST_SEED:-$first}" \
  --nodes-max "$nodes" --keep-going 2>&1 | tee "$log"
read -r runs violations < <(sed -nE 's/^([0-9]+) runs, .*; ([0-9]+) violations$/\1 \2/p' "$log")
if [[ -z ${runs:-} ]]; then
  echo "0 passed, 1 failed"
  exit 1
fi
echo "$((runs - violations)) passed, $violations failed"
((violations == 0))
