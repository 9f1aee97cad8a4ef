#!/usr/bin/env bash
# Trains the same network twice with examples/pytorch/train_ddp.py: once undisturbed, and once while ranks, agents and the
# scheduler are killed at random. Fails unless both print the same losses, digit by digit.
#
# It needs Muster's programs (in the folder MUSTER_BIN; without that variable in build/bin or PATH) and a python3 with
# PyTorch. It kills only processes that it started itself.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'END'
Usage: bash examples/torture.sh [--seconds N] [--seed N] [--nodes N] [--workers N]

Trains a small network twice on this machine, once undisturbed and once while ranks, agents and the scheduler are
killed at random, and compares the losses of all steps.

  --seconds N   how long it kills, at least 10 (default 120). It kills at least five times, so a short run may take longer.
  --seed N      repeats the choices of an earlier run: what is killed, and the pauses in between (default: random)
  --nodes N     agents of the job (default 2)
  --workers N   training processes of each agent (default 2)

Exit code: 0 if the losses are equal, 1 if they differ or a job fails, 2 if an option is wrong or a program is missing.
END
}

refuse() { printf 'torture: %s\n' "$1" >&2; exit 2; }
wrong() { refuse "$1; --help shows the options"; }

seconds=120 seed=$RANDOM nodes=2 workers=2
while (($# > 0)); do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --seconds | --seed | --nodes | --workers)
      [[ ${2-} =~ ^[0-9]{1,5}$ ]] || wrong "$1 needs a number of at most 5 digits"
      printf -v "${1#--}" %d "$((10#$2))"
      shift 2 ;;
    *) wrong "unknown option '$1'" ;;
  esac
done
((seconds >= 10)) || wrong "--seconds must be at least 10"
((nodes >= 1 && workers >= 1)) || wrong "--nodes and --workers must be at least 1"

least_kills=5
step_seconds=0.045             # pause in each step of the killed run
epochs=$((2 * seconds + 10))   # of 10 steps each: enough that the killed run lasts longer than the kills
longest_pause=$((seconds * 1000 / 8 < 8000 ? seconds * 1000 / 8 : 8000))  # in ms, between two kills
world_size=$((nodes * workers))

bin=${MUSTER_BIN:-$here/../build/bin}
if [[ -z ${MUSTER_BIN-} && ! -x $bin/ms-worker ]]; then bin=$(dirname "$(command -v ms-worker || echo PATH/ms-worker)"); fi
for program in ms-worker ms-scheduler ms-ctl; do
  [[ -x $bin/$program ]] || refuse "$program is not in $bin: build or install Muster, or set MUSTER_BIN"
done
has_torch() { "$1" -c 'import torch.distributed as d; assert d.is_gloo_available()' 2>/dev/null; }
python=$(command -v python3 || echo /usr/bin/python3)
has_torch "$python" || python=/usr/bin/python3
has_torch "$python" || refuse "neither python3 nor /usr/bin/python3 can import torch: apt-get install python3-torch"

# Removes settings of another job from this shell, and makes both runs compute in the same way, with one thread.
unset "${!MS_@}" "${!MASTER_@}" "${!TORCHELASTIC_@}" NODE_RANK RANK_TABLE_FILE
export OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=

work=$(mktemp -d -t muster-torture.XXXXXX)
declare -A agents  # node: pid
scheduler='' port=0 name=none is_good=no

# Prints the pids of all processes that this script started, directly or indirectly. It recognises them by a variable in
# their environment, which children inherit.
left() { grep -lszxF "MUSTER_TORTURE=$work" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n' || true; }

await_none() {
  local i
  for ((i = 0; i < 100; i++)); do [[ -n $(left) ]] || return 0; sleep 0.1; done
  return 1
}

clean_up() {
  local code=$? pids
  trap '' HUP INT TERM
  { kill ${agents[@]+"${agents[@]}"} $scheduler; } 2>/dev/null || true
  if ! await_none; then
    mapfile -t pids < <(left)
    kill -KILL "${pids[@]}" 2>/dev/null || true
    await_none || echo "torture: still running: $(left | xargs)" >&2
  fi
  if [[ $is_good == yes ]] || ((code > 128)); then rm -rf "$work"; else echo "torture: the logs are in $work" >&2; fi
}

fail() {
  local log
  printf 'torture: %s\n' "$1" >&2
  if [[ $name != none ]]; then
    "$bin/ms-ctl" why --sched_host 127.0.0.1 --sched_port "$port" >&2 || true
    for log in "$work/$name"/*.log "$work/$name/logs/worker_0.log"; do
      if [[ -s $log ]]; then printf -- '-- the last lines of %s:\n' "$log" >&2; tail -n 8 "$log" >&2; fi
    done
  fi
  exit 1
}

start_scheduler() {
  local i log=$work/$name/scheduler.log
  : >>"$log"
  MUSTER_TORTURE=$work "$bin/ms-scheduler" --once --sched_host 127.0.0.1 --sched_port "$port" --worker_num "$world_size" \
    --enable_recovery true --max_restarts 1000 --stop_timeout 5 --journal_path "$work/$name/journal.db" 2>>"$log" &
  scheduler=$!
  for ((i = 0; i < 200; i++)); do
    ((port != 0)) || port=$(sed -n 's/.*listening on [^ ]*:\([0-9][0-9]*\).*/\1/p' "$log" | head -n 1)
    port=${port:-0}
    if ((port != 0)) && "$bin/ms-ctl" status --sched_host 127.0.0.1 --sched_port "$port" >/dev/null 2>&1; then return; fi
    kill -0 "$scheduler" 2>/dev/null || break
    sleep 0.05
  done
  fail "ms-scheduler did not start"
}

start_agent() {  # start_agent NODE
  MUSTER_TORTURE=$work "$bin/ms-worker" --sched_host 127.0.0.1 --sched_port "$port" --worker_num "$world_size" \
    --local_worker_num "$workers" --node_id "$1" --enable_recovery true --max_restarts 1000 --stop_timeout 5 \
    --recovery_path "$work/$name/state" --log_dir "$work/$name/logs" --tail none -- \
    "$python" "$here/pytorch/train_ddp.py" --epochs "$epochs" --step-seconds "$pause" --exact \
    --checkpoints "$work/$name/checkpoints" >>"$work/$name/agent_$1.log" 2>&1 &
  agents[$1]=$!
}

start_job() {  # start_job NAME SECONDS: starts a scheduler and the agents; each training step pauses for SECONDS
  name=$1 pause=$2 port=0
  local node
  mkdir -p "$work/$name"
  losses=$work/$name/logs/worker_0.log  # what rank 0 prints
  start_scheduler
  for ((node = 0; node < nodes; node++)); do start_agent "$node"; done
}

all_run() {
  local pid
  for pid in "$scheduler" "${agents[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}

await_end() {
  local node code size=-1 quiet=0
  while all_run; do
    if ((size != $(stat -L -c %s "$losses" 2>/dev/null || echo 0))); then quiet=0; fi
    size=$(stat -L -c %s "$losses" 2>/dev/null || echo 0)
    ((++quiet < 1200)) || fail "no loss for four minutes"
    sleep 0.2
  done
  for ((node = 0; node < nodes; node++)); do
    code=0; wait "${agents[$node]}" || code=$?
    ((code == 0)) || fail "the job failed: the agent of node $node ended with exit code $code"
  done
  code=0; wait "$scheduler" || code=$?
  ((code == 0)) || fail "the job failed: ms-scheduler ended with exit code $code"
  agents=() scheduler=
  sed -n 's/^step \([0-9]*\): loss \(.*\)$/\1 \2/p' "$losses" >"$work/$name.losses"
}

now() { now=$((${EPOCHREALTIME/./} / 1000)); }  # sets now: ms of the wall clock
roll() { rolled=$((RANDOM % $1)); }             # sets rolled: from 0 to $1 - 1. ($(…) would repeat numbers of RANDOM.)
nap() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }  # nap MS
tenths() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }
news() { tail -c +$((size + 1)) "$losses"; }    # what rank 0 has printed since the kill

running() { "$bin/ms-ctl" ranks --sched_host 127.0.0.1 --sched_port "$port" | grep ' running ' || true; }

await_losses() {  # after a kill: waits until the training has started again, and goes on
  local i
  for ((i = 0; i < 4800; i++)); do
    if news | sed -n '/goes on after epoch/,$p' | grep ': loss' >/dev/null; then now; return; fi
    all_run || fail "a program ended after the kill of $victim"
    sleep 0.05
  done
  fail "no loss within four minutes after the kill of $victim"
}

kill_rank() {
  local pid
  roll "$world_size"
  victim="rank $rolled"
  pid=$(running | awk -v rank="$rolled" '$1 == rank {sub(/.* running +/, ""); print $1}')
  [[ -n $pid ]] || fail "ms-ctl ranks shows no running process of $victim"
  begin_kill
  kill -KILL "$pid" || fail "$victim has ended before it was killed"
  await_losses
}

kill_agent() {
  roll "$nodes"
  victim="the agent of node $rolled"
  local node=$rolled pid=${agents[$rolled]}
  begin_kill
  kill -KILL "$pid"
  { wait "$pid"; } 2>/dev/null || true  # hides bash's own message on the kill
  roll 2000; nap "$rolled"
  start_agent "$node"
  await_losses
}

kill_scheduler() {
  victim="the scheduler"
  begin_kill
  kill -KILL "$scheduler"
  { wait "$scheduler"; } 2>/dev/null || true
  local i went_on
  for ((i = 0; i < 600; i++)); do
    if news | grep ': loss' >/dev/null; then break; fi
    sleep 0.05
  done
  ((i < 600)) || fail "the training stopped when the scheduler was killed"
  now; went_on=$now
  roll 2000; nap "$rolled"
  start_scheduler
  for ((i = 0; i < 300 && $(running | wc -l) < world_size; i++)); do sleep 0.1; done
  ((i < 300)) || fail "the agents did not come back to the scheduler"
  if news | grep 'goes on after epoch' >/dev/null; then fail "the training started again when the scheduler was killed"; fi
  now=$went_on
}

begin_kill() { size=$(stat -L -c %s "$losses"); now; killed=$now; }

torture() {
  local kinds=(rank agent scheduler) kills=0 i kind began
  roll 3; kinds=("${kinds[@]:rolled}" "${kinds[@]:0:rolled}")
  for ((i = 0; i < 1200; i++)); do  # from the second epoch on there is a checkpoint
    if grep -qs '^step 11: ' "$losses"; then break; fi
    all_run || fail "the job failed before the first kill"
    sleep 0.1
  done
  ((i < 1200)) || fail "no loss within two minutes"
  now; began=$now
  printf '  %9s  %-22s  %s\n' "time" "killed" "losses go on after"
  while ((now - began < seconds * 1000 || kills < least_kills)); do
    roll "$longest_pause"; nap $((300 + rolled))
    if ((kills < 3)); then kind=${kinds[kills]}; else roll 3; kind=${kinds[rolled]}; fi  # first one of each kind
    "kill_$kind"
    ((++kills))
    printf '  %9s  %-22s  %9s%s\n' "$(tenths $((killed - began)))" "$victim" "$(tenths $((now - killed)))" \
      "$([[ $kind != scheduler ]] || echo ', nothing started again')"
    now
  done
  echo "$kills kills in $(tenths $((now - began))); the training goes on to its end."
}

# compare: prints some of the losses and the outcome; ends with 1 if they differ.
compare() {
  awk -v steps=$((10 * epochs)) '
    function row(step) { printf "  %9d  %-22s  %s\n", step, expected[step], step in found ? found[step] : "none" }
    FNR == NR { expected[$1] = $2; next }
    { ++printed
      if (!($1 in found) || found[$1] == expected[$1] "") found[$1] = $2 "" }  # keeps a loss that differs
    END {
      for (step = 1; step <= steps && !different; ++step)
        if (expected[step] !~ /^[0-9]/ || !(step in found) || found[step] != expected[step] "") different = step
      printf "  %9s  %-22s  %s\n", "step", "loss, undisturbed", "loss, killed"
      last = different ? different : steps
      for (i = 0; i < 7; ++i) {
        step = 1 + int((last - 1) * i / 6)
        if (step > shown) row(step)
        shown = step
      }
      printf "%d printed losses of %d steps compared: ", printed, steps
      if (different) { printf "different at step %d\n", different; exit 1 }
      print "equal"
    }' "$work/undisturbed.losses" "$work/killed.losses"
}

trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
RANDOM=$seed
echo "torture: --seed $seed --seconds $seconds --nodes $nodes --workers $workers"
echo "$("$bin/ms-worker" --version | head -n 1); PyTorch $("$python" -c 'import torch; print(torch.__version__)') of $python"
echo "Undisturbed: $((10 * epochs)) steps."
start_job undisturbed 0
await_end
echo "The same, with kills:"
start_job killed "$step_seconds"
torture
await_end
is_good=yes
compare || { is_good=no; exit 1; }
