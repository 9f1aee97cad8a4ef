"""Makes steps and reports them, until a file "go" exists. One rank hangs: --rank hangs at --step in every round up to
--rounds. The others then wait for it, as in a collective."""

import argparse
import os
import pathlib
import sys
import time

import muster_training

parser = argparse.ArgumentParser()
parser.add_argument("--rank", type=int, default=-1)
parser.add_argument("--step", type=int, default=5)
parser.add_argument("--rounds", type=int, default=1000)
parser.add_argument("--shared", type=pathlib.Path, required=True)
parser.add_argument("--no_stacks", action="store_true")
options = parser.parse_args()
rank, round_number = int(os.environ["RANK"]), int(os.environ["MS_ROUND"])


def waits_for_data_that_never_comes():
    while True:
        time.sleep(0.1)


def come_to(step):
    mine = options.shared / ("round%d-rank%d" % (round_number, rank))
    mine.with_suffix(".new").write_text(str(step))
    mine.with_suffix(".new").rename(mine)


def barrier(step):
    """Waits until all ranks have reached the step."""
    come_to(step)
    for other in range(int(os.environ["WORLD_SIZE"])):
        theirs = options.shared / ("round%d-rank%d" % (round_number, other))
        while not theirs.exists() or int(theirs.read_text()) < step:
            time.sleep(0.02)


if not options.no_stacks:
    assert muster_training.enable_stacks()
options.shared.mkdir(exist_ok=True)
step = 0
while not pathlib.Path("go").exists() or step < options.step:
    step += 1
    if rank == options.rank and step == options.step and round_number <= options.rounds:
        waits_for_data_that_never_comes()
    muster_training.progress(step)
    barrier(step)
    time.sleep(0.05)
come_to(sys.maxsize)  # ranks that see "go" a step later don't wait for this one
print("ends after step %d" % step, file=sys.stderr)
