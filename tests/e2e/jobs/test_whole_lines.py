"""Agent and processes share one stderr: a line of the agent never appears in the middle of a process's line."""

import re
import sys

import pytest

from muster import BIN, eventually, kill_now

# A process that is nearly always in the middle of a line, like an unbuffered program that writes text and line break
# separately. After a stop signal it goes on for a while.
SLOW_LINES = """
import os, signal, time
left = [None]
signal.signal(signal.SIGTERM, lambda *_: left.__setitem__(0, time.monotonic() + 1))
while left[0] is None or time.monotonic() < left[0]:
    for c in "abcdefghijklmnopqrstuvwxyz":
        os.write(1, c.encode())
        time.sleep(0.001)
    os.write(1, b"\\n")
"""
OURS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3} (INFO|WARNING|ERROR) ms-worker: |ms-worker: ")


# The keeper's relay writes to files, the keeper itself to everything else.
INTO = {"file": [], "pipe": ["sh", "-c", '"$@" 2>&1 | cat', "sh"]}


@pytest.mark.parametrize("into", INTO)
@pytest.mark.parametrize("slots", [1, 2])
def test_the_agents_lines_are_lines_of_their_own(cluster, slots, into):
    words = ["--worker_num", slots, "--journal_path", cluster.folder / "journal.db"]
    scheduler = cluster.start_scheduler(*words)
    agent = cluster.start("agent", [*INTO[into], BIN / "ms-worker", *cluster.agent_words(), "--worker_num", slots,
                                    "--local_worker_num", slots, "--", sys.executable, "-c", SLOW_LINES])
    cluster.wait_until_running(slots)
    agent.expect_said("abc")
    for round_number in range(3):
        kill_now(scheduler.pid)
        scheduler.wait(10)
        eventually(lambda: agent.output().count("lost the scheduler") > round_number, 20, "the agent has noticed")
        scheduler = cluster.start_scheduler(*words, name="again%d" % round_number, port=scheduler.port)
        eventually(lambda: agent.output().count("reconnected to") > round_number, 20, "the agent is back")
    cluster.ctl("stop", "--yes")
    agent.wait(20)
    lines = agent.lines()
    said = [line for line in lines if OURS.match(line)]
    assert len(said) >= 8, agent.output()
    for line in lines:
        assert OURS.match(line) or not OURS.search(line), "%r holds a line of ours" % line
        assert OURS.match(line) or re.fullmatch(r"(\[rank \d\] )?[a-z]*", line), line
    # A line is broken in two, before one of ours, only if it takes 50 ms to end.
    whole = [line for line in lines if line.endswith("abcdefghijklmnopqrstuvwxyz")]
    assert len(whole) > 10, agent.output()
    if slots > 1:
        assert all(OURS.match(line) or line.startswith("[") for line in lines), agent.output()
