#!/usr/bin/env bash
# Plants each defect of tests/sim/defects in the two cores, one at a time, and checks that the simulation finds it.
#
#   tests/sim/check_defects.sh [BUILD]     BUILD: a build folder configured with -DMUSTER_UNITY=OFF, since one source of a
#                                          library is replaced (default: build-defects, which is made)
#
# MUSTER_DEFECT_SEEDS: the number of seeds within which each one must be found (default 10000).
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-$root/build-defects}
seeds=${MUSTER_DEFECT_SEEDS:-10000}
if [[ $# == 0 ]]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_UNITY=OFF >/dev/null || exit 2
elif ! grep -q '^MUSTER_UNITY:BOOL=OFF' "$build/CMakeCache.txt" 2>/dev/null; then
  echo "tests/sim/check_defects.sh: $build is not configured without unity builds: cmake -S . -B $build -DMUSTER_UNITY=OFF" >&2
  exit 2
fi

log=$(mktemp -t muster-defects.XXXXXX)
trap 'rm -f "$log"' EXIT
if ! cmake --build "$build" --target muster_sim sim_defects >"$log" 2>&1; then
  grep -E 'no longer applies|error' "$log" || tail -n 40 "$log"
  echo "0 passed, 1 failed"
  exit 1
fi

passed=0 failed=0
printf '%-36s %8s  %s\n' defect 'in seed' found
for patch in "$root"/tests/sim/defects/*.patch; do
  name=$(basename "$patch" .patch)
  # A seed that also fails without the defect proves nothing.
  seed=0 found=
  while ((seed < seeds)); do
    timeout 600 "$build/bin/sim_defect_$name" --first-seed $((seed + 1)) --seeds $((seeds - seed)) --workers 1 \
      >"$log" 2>&1
    found=$(grep -m 1 -E '^VIOLATION in seed' "$log") || break
    seed=$(sed -E 's/^VIOLATION in seed ([0-9]+):.*/\1/' <<<"$found")
    "$build/bin/muster_sim" --seed "$seed" >/dev/null 2>&1 && break
    found=
  done
  if [[ -n $found ]]; then
    what=$(sed -E 's/^VIOLATION in seed [0-9]+: (at [0-9a-z.]+: )?//' <<<"$found")
    [[ $what == aborted* ]] && what=$(grep -m 1 -oE 'broken invariant: [^(]*' "$log")
    printf '%-36s %8s  %s\n' "$name" "$seed" "${what:0:110}"
    passed=$((passed + 1))
  else
    printf '%-36s %8s  %s\n' "$name" - "NOT FOUND: $(tail -n 1 "$log")"
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
((failed == 0))
