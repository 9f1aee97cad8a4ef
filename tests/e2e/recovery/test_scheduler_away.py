"""The scheduler is away while a spare stands by, so the fence is armed: how long do processes live on?"""

import os
import signal
import sys
import time

import pytest

import lives
import processes
from muster import BIN, SCRIPTS, eventually
from resuming import Lines, journal_words

SLEPT_CLOCK = BIN / "slept_clock.so"
STOP_TIMEOUT, MARGIN = 1, 5  # how long before the fence's time the keeper ends the processes
HEARTBEAT = 0.5
LONGEST_BACK_OFF = 3 * 1.3


class FencedJob(Lines):
    """Two nodes with two ranks each, one of them ignoring SIGTERM, and a spare."""

    def __init__(self, cluster, fence):
        self.notes = cluster.folder / "lives"
        self.notes.mkdir()
        super().__init__(cluster, [sys.executable, "-S", SCRIPTS / "holder.py", self.notes, "--ignore_sigterm"],
                         scheduler_words=[*journal_words(cluster), "--heartbeat_interval", HEARTBEAT, "--stop_timeout",
                                          STOP_TIMEOUT, "--fence_timeout", fence, "--disconnect_grace", 3],
                         node_words=["--stop_timeout", STOP_TIMEOUT])

    def start(self):
        super().start()
        self.start_node("stand-in", "--spare")
        eventually(lambda: self.status()["spares"] == 1, 10, "a spare stands by")
        eventually(lambda: len(lives.read(self.notes)) == self.world_size, 10, "every process notes that it lives")
        time.sleep(3 * HEARTBEAT)  # every agent has reported that its fence is armed
        return self

    def holders(self):
        return {rank["rank"]: rank["node_id"] for rank in self.ranks()}

    def return_after(self, seconds, since):
        time.sleep(max(0, since + seconds - time.monotonic()))
        self.start_scheduler()

    def expect_undisturbed(self, pids):
        def are_all_back():
            return [node["state"] for job in self.cluster.ctl_json("nodes")["jobs"] for node in job["nodes"]] == [
                "connected"] * 3
        eventually(are_all_back, 2 * LONGEST_BACK_OFF, "every node is back")
        time.sleep(3 * HEARTBEAT)
        status = self.status()
        assert (status["round"], status["phase"], self.pids()) == (1, "running", pids), status

    def expect_good_end(self):
        (self.notes / "go").touch()
        self.expect_success()
        found = lives.read(self.notes)
        assert not lives.faults(found), "\n".join(lives.faults(found))
        return found


def test_one_that_died_and_is_back_in_half_the_time_finds_all_as_it_was(cluster):
    fence = 28
    job = FencedJob(cluster, fence).start()
    pids, killed = job.pids(), job.kill(job.scheduler)
    job.nodes["n1"].expect_said("if no scheduler answers within 2[0-2] ?s")
    job.return_after(fence / 2, killed)
    job.expect_undisturbed(pids)
    assert len(job.expect_good_end()) == job.world_size


def test_one_that_died_and_is_back_in_twice_the_time_starts_the_next_round(cluster):
    """Another scheduler could have come in its place and counted the fence out, so the processes have ended."""
    fence = 14
    job = FencedJob(cluster, fence).start()
    holders = job.holders()
    job.kill(job.scheduler)
    killed, killed_boottime = time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME)
    job.nodes["n1"].expect_said(r"--fence_timeout 14s\): stopping its processes", fence)
    job.return_after(2 * fence, killed)
    job.wait_for_round(2)
    assert job.holders() == holders, "no node was lost"
    found = job.expect_good_end()
    ends = [life.last - killed_boottime for life in found if life.round == 1]
    print("ended %s s after the scheduler's death" % ends)
    assert len(ends) == job.world_size
    assert fence - MARGIN - STOP_TIMEOUT - 2 * HEARTBEAT - 0.5 < min(ends) and max(ends) < fence - MARGIN + 1, ends


def test_one_that_says_that_it_goes_away_may_stay_away(cluster):
    """Its next life relies on no fence before the nodes have reported to it, so no fence need fall."""
    fence = 10
    job = FencedJob(cluster, fence).start()
    pids = job.pids()
    os.kill(job.scheduler.pid, signal.SIGTERM)
    job.scheduler.expect(0)
    job.return_after(2 * fence, time.monotonic())
    job.expect_undisturbed(pids)
    # They are armed again, as the next scheduler that dies without notice will show.
    job.kill(job.scheduler)
    job.nodes["n0"].expect_said("if no scheduler answers within")
    job.return_after(1, time.monotonic())
    job.expect_undisturbed(pids)
    job.expect_good_end()


@pytest.mark.skipif(not SLEPT_CLOCK.exists(), reason="slept_clock is not built")
def test_an_answer_that_is_read_after_a_sleep_does_not_set_the_fence_again(cluster):
    """The machine of n1 is suspended between a heartbeat and its answer. When it wakes, others may have its ranks."""
    fence = 30
    slept = cluster.folder / "slept"
    job = FencedJob(cluster, fence)
    start_node = job.start_node
    job.start_node = lambda node, *more: start_node(node, *more, **({"env": {
        "LD_PRELOAD": SLEPT_CLOCK, "MUSTER_TEST_SLEPT": slept}} if node == "n1" else {}))
    job.start()
    agent, holders = job.nodes["n1"].pid, job.holders()
    keeper = processes.named("ms-keeper", agent)[0].pid
    old = [pid for rank, pid in job.pids().items() if holders[rank] == "n1"]
    processes.stop(job.scheduler.pid)
    time.sleep(2 * HEARTBEAT)  # time for a heartbeat
    processes.stop(keeper, agent)
    job.scheduler.popen.send_signal(signal.SIGCONT)
    time.sleep(2 * HEARTBEAT)  # and for its answer
    processes.stop(job.scheduler.pid)
    assert all(processes.is_alive(pid) for pid in old)
    slept.write_text("600")
    os.kill(agent, signal.SIGCONT)
    time.sleep(0.2)  # it reads the answer before the keeper, for which the guardian waits up to 1 s, looks at its clock
    os.kill(keeper, signal.SIGCONT)
    eventually(lambda: not any(processes.is_alive(pid) for pid in old), 5, "the fence falls")
    job.scheduler.popen.send_signal(signal.SIGCONT)
    job.wait_for_round(2)
    (job.notes / "go").touch()  # n1's processes write times of the changed clock
    job.expect_success()


@pytest.mark.parametrize("seconds", [45, pytest.param(75, marks=pytest.mark.long)])
def test_with_the_default_fence_it_may_be_away_for_50_s(cluster, seconds):
    job = FencedJob(cluster, 60)
    job.scheduler_words, job.node_words = journal_words(cluster), []
    job.start()
    time.sleep(5)  # with the default heartbeat of 2 s, every agent has reported only now that its fence is armed
    pids, killed = job.pids(), job.kill(job.scheduler)
    job.nodes["n1"].expect_said("if no scheduler answers within (4[7-9]|50) ?s")
    job.return_after(seconds, killed)
    if seconds < 50:
        job.expect_undisturbed(pids)
    else:
        job.wait_for_round(2, timeout=60)
        assert job.status()["restart_count"] == 1, "the processes have ended once"
    job.expect_good_end()
