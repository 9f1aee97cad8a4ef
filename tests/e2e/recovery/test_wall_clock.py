"""The wall clock of a machine with the scheduler and agents is set. Monotonic time decides, so nothing happens."""

import os
import re
import signal
import time

import pytest

import processes
from muster import eventually, kill_now, no_warnings
from own_kernel import runs_in_one
from resuming import Lines, journal_words

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
LEASE = 10
MINUTES, YEAR = 15 * 60, 365 * 24 * 3600
WAIT = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]


class WallClock:
    """The wall clock of the present kernel."""

    def __init__(self):
        self.offset = time.time() - time.monotonic()

    def set(self, seconds):
        """Sets it this many seconds ahead of the true time."""
        time.clock_settime(time.CLOCK_REALTIME, self.offset + time.monotonic() + seconds)
        assert abs(time.time() - time.monotonic() - self.offset - seconds) < 1, "the clock can't be set here"


def check(cluster, before, what):
    """Every agent has sent a recent heartbeat, and no process was started since `before`."""
    nodes = [node for job in cluster.ctl_json("nodes")["jobs"] for node in job["nodes"]]
    assert [(node["state"], node["last_seen_ms"] < 3500) for node in nodes] == [("connected", True)] * 2, (
        what, nodes, cluster.scheduler.output())
    assert ranks(cluster) == before, what


def ranks(cluster):
    return [(rank["rank"], rank["node_id"], rank["pid"], rank["state"])
            for job in cluster.ctl_json("ranks")["jobs"] for rank in job["ranks"]]


def start(cluster):
    # An armed fence must not fall either: it is on the keeper's clock.
    words = ["--node_timeout", LEASE, "--heartbeat_interval", 1, "--stop_timeout", 1, "--fence_timeout", 120]
    return Lines(cluster, WAIT, scheduler_words=[*journal_words(cluster), *words], slots=1,
                 node_words=["--stop_timeout", 1]).start()


@runs_in_one
def test_setting_the_wall_clock_changes_nothing(cluster, request):
    clock, job = WallClock(), start(cluster)
    before = ranks(cluster)
    # An error shows within the first seconds, at once or at the next deadline, as silence.
    for seconds in (MINUTES, -MINUTES, YEAR, -YEAR, 0) if IS_LONG else (MINUTES, -YEAR):
        clock.set(seconds)
        time.sleep(1.2 * LEASE if IS_LONG else 4.5)
        check(cluster, before, "set by %+d s" % seconds)
    for program in cluster.programs:
        no_warnings(program)
    assert job.status()["round"] == 1 and not job.events("node_lost")
    (cluster.folder / "go").touch()
    job.expect_success()


@runs_in_one
@pytest.mark.parametrize("seconds", [-MINUTES, -YEAR] if IS_LONG else [-YEAR])
def test_the_wall_clock_is_set_while_pauses_and_time_limits_run(cluster, request, measured, seconds):
    """The pauses of agents that try to connect, and those between two rounds. (For a jump forward see the next
    test.)"""
    clock, job = WallClock(), start(cluster)
    before = ranks(cluster)
    job.kill(job.scheduler)
    time.sleep(1)
    clock.set(seconds)
    begin = time.monotonic()
    job.start_scheduler()
    eventually(lambda: all(re.search("reconnected to the scheduler", node.output()) for node in job.nodes.values()), 20,
               "the agents are back")
    # The agents' longest pause is 3.9 s.
    measured("from the clock's change until the agents are back", time.monotonic() - begin, at_most=12)
    check(cluster, before, "set by %+d s while agents knocked" % seconds)
    # The second restart comes 1 s after the failure.
    for number in (2, 3):
        kill_now(eventually(lambda: job.pids().get(0), 20, "rank 0 runs"))
        if number == 3:
            clock.set(0)
        job.nodes["n0"].expect_said("round %d: rank 0" % number, 20)
    job.wait_for_round(3)
    assert [event["text"] for event in job.events("node_lost")] == []
    (cluster.folder / "go").touch()
    job.expect_success()


@runs_in_one
def test_a_jump_forward_beyond_the_schedulers_reach_ends_the_processes(cluster, request, measured):
    """As after the pause of a virtual machine: others may have the ranks by now, and the fence's clock stood still."""
    clock, job = WallClock(), start(cluster)
    before = [pid for pid in job.pids().values()]
    processes.stop(job.scheduler.pid)
    clock.set(MINUTES)
    begin = time.monotonic()
    eventually(lambda: not any(processes.is_alive(pid) for pid in before), 10, "the processes have ended")
    measured("from the jump to the processes' end", time.monotonic() - begin, at_most=4)
    assert "the wall clock has jumped forward by 15m" in job.nodes["n0"].output()
    os.kill(job.scheduler.pid, signal.SIGCONT)
    job.wait_for_round(2)
    (cluster.folder / "go").touch()
    job.expect_success()
