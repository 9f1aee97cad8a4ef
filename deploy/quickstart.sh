#!/usr/bin/env bash
# From a fresh Debian 12 to a first job. Installs packages, builds, and trains a network on handwritten digits with
# PyTorch's DistributedDataParallel, as 2 nodes x 2 workers on this machine. Then trains it again, and kills and
# restarts one node meanwhile. A second run of this script needs no network.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
least_accuracy=0.93
unset "${!MS_@}" "${!MASTER_@}"  # settings of another job in this shell

say() { printf '\n== %s\n' "$*"; }

fail() {
  printf 'quickstart: %s\n' "$1" >&2
  for log in "${@:2}"; do
    if [[ -s $log ]]; then printf -- '-- the last lines of %s:\n' "$log" >&2; tail -n 15 "$log" >&2; fi
  done
  exit 1
}

has_torch() {
  "$1" -c 'import sklearn, torch, torch.distributed as d; assert d.is_gloo_available()' 2>/dev/null
}

say "Install packages with apt (the first time: some minutes, without output)"
bash "$root/deploy/install-deps.sh" --run
python=$(command -v python3)
has_torch "$python" || python=/usr/bin/python3
has_torch "$python" || fail "neither python3 nor /usr/bin/python3 can import torch (with gloo) and sklearn"
echo "PyTorch $("$python" -c 'import torch; print(torch.__version__)') from $python"

say "Build (the first time: some minutes)"
build=$root/build
if [[ ! -f $build/CMakeCache.txt ]]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMUSTER_TESTS=OFF >/dev/null
fi
cmake --build "$build" --parallel "$(nproc)" --target ms-scheduler ms-worker ms-ctl ms-ring
bin=$build/bin

say "Run a job of 2 nodes x 2 workers, which start PyTorch and train for a few seconds"
work=$(mktemp -d -t muster-quickstart.XXXXXX)
pids=()
clean_up() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT

# start_scheduler NAME WORDS...: sets scheduler (its pid) and port.
start_scheduler() {
  local log=$work/$1.log
  : >"$log"
  "$bin/ms-scheduler" --once --sched_host 127.0.0.1 --sched_port 0 --worker_num 4 "${@:2}" 2>"$log" &
  scheduler=$!
  pids+=("$scheduler")
  port=
  for ((i = 0; i < 100; i++)); do
    port=$(sed -n 's/.*listening on [^ ]*:\([0-9][0-9]*\).*/\1/p' "$log" | head -n 1)
    [[ -n $port ]] && break
    kill -0 "$scheduler" 2>/dev/null || break
    sleep 0.1
  done
  [[ -n $port ]] || fail "ms-scheduler did not start" "$log"
}

# start_agent NAME WORDS... -- COMMAND...: sets agent (its pid).
start_agent() {
  "$bin/ms-worker" --sched_host 127.0.0.1 --sched_port "$port" --worker_num 4 --local_worker_num 2 \
    --stop_timeout 5 --log_dir "$work/$1" --tail none "${@:2}" >>"$work/$1.log" 2>&1 &
  agent=$!
  pids+=("$agent")
}

start_scheduler scheduler
agents=()
for node in 1 2; do
  start_agent "node$node" -- "$python" "$root/tests/e2e/scripts/train_digits.py"
  agents+=("$agent")
done

# Waits until all four processes run, and prints the table of ranks.
ranks=
for ((i = 0; i < 300; i++)); do
  ranks=$("$bin/ms-ctl" ranks --sched_host 127.0.0.1 --sched_port "$port" 2>/dev/null || true)
  (($(grep -cw running <<<"$ranks") == 4)) && break
  kill -0 "${agents[0]}" 2>/dev/null || break
  sleep 0.1
done
printf '%s\n\n' "$ranks"

logs=("$work"/node1.log "$work"/node2.log "$work"/scheduler.log)
for agent in "${agents[@]}"; do
  wait "$agent" || fail "the job failed (an agent ended with exit code $?)" "${logs[@]}"
done
wait "$scheduler" || fail "the job failed (ms-scheduler ended with exit code $?)" "${logs[@]}"
pids=()

accuracy=$(sed -n 's/^test accuracy: //p' "$work"/node*/worker_0.log)
[[ -n $accuracy ]] || fail "rank 0 printed no test accuracy" "$work"/node*/worker_0.log
grep -h 'loss is' "$work"/node*/worker_0.log | sed -n '1p;$p'
echo "test accuracy: $accuracy"
awk -v a="$accuracy" -v least="$least_accuracy" 'BEGIN {exit !(a >= least)}' ||
  fail "the test accuracy $accuracy is below $least_accuracy"
echo "The job succeeded."

say "Run it again, and kill node 2 meanwhile (MS_ENABLE_RECOVERY=1)"
start_scheduler scheduler2 --enable_recovery true
resume=(--enable_recovery true -- "$python" "$root/tests/e2e/scripts/train_digits_resume.py" --checkpoints "$work/checkpoints")
start_agent first --node_id 1 "${resume[@]}"
first=$agent
start_agent second --node_id 2 "${resume[@]}"
echo "waiting for the first checkpoint"
logs=("$work"/first.log "$work"/second.log "$work"/scheduler2.log "$work"/first/worker_0.log)
for ((i = 0; i < 600; i++)); do
  compgen -G "$work/checkpoints/*.pt" >/dev/null && break
  kill -0 "$first" 2>/dev/null || fail "the job failed before its first checkpoint" "${logs[@]}"
  sleep 0.1
done
{ kill -KILL "$agent"; wait "$agent"; } 2>/dev/null || true  # hides the shell's message about it
echo "node 2 was killed with SIGKILL after the first checkpoint; starting it again with the same command"
start_agent second --node_id 2 "${resume[@]}"
for pid in "$first" "$agent" "$scheduler"; do
  wait "$pid" || fail "the job did not recover (exit code $?)" "${logs[@]}"
done
pids=()
sed -nE 's/.*ms-scheduler: (job .* formed|restarting|job .* succeeded)/  \1/p' "$work/scheduler2.log"
sed -nE 's/.*restart [1-9][0-9]*: (goes on after step [1-9])/  rank 0 \1/p' "$work"/first/worker_0.log | grep . ||
  fail "rank 0 did not go on from its checkpoint" "${logs[@]}"
echo "The job succeeded, with the same ranks."
