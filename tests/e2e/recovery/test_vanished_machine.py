"""A machine vanishes or hangs while a spare stands by. The spare has its ranks once the old processes are certainly
gone, by the fence or because a person confirms it. No other ranks change."""

import os
import signal
import time

import pytest

import lives
import processes
from muster import EXIT_FAILED_ELSEWHERE, eventually
from resuming import journal_words
from split_job import STOP_TIMEOUT, SplitJob

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
LEASE, FENCE = 3, 8.5


def start(cluster, network, *scheduler_words):
    near, far = network.pair()
    return SplitJob(cluster, near, far, "--node_timeout", LEASE, "--disconnect_grace", LEASE, *scheduler_words,
                    nodes=3).start(has_spare=True)


def everybody_of(agent):
    """Returns the pids of the agent, its keeper and its training processes."""
    return [agent.pid, *(process.pid for process in processes.descendants(agent.pid))]


def send_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass  # it ended with its parent


def power_off(agent):
    """Kills the node so that no process of it is left to notice the others' deaths."""
    victims = everybody_of(agent)
    processes.stop(*victims)
    send_all(victims, signal.SIGKILL)


def expect_the_spare_in_its_place(job, holders):
    """`holders`: which node had which rank before."""
    assert job.holders() == {rank: "stand-in" if node == "n1" else node for rank, node in holders.items()}
    assert job.status()["restart_count"] == 1


def test_the_spare_takes_over_at_the_fence(cluster, network, measured):
    job = start(cluster, network, "--fence_timeout", FENCE)
    holders, stale = job.holders(), job.nodes.pop("n1")
    old = [pid for rank, pid in job.pids().items() if holders[rank] == "n1"]
    job.far.cut_cable()
    begin = time.monotonic()
    eventually(lambda: job.events("node_lost"), 2 * LEASE, "n1 is lost")
    assert "n1" in job.events("node_lost")[0]["text"] and cluster.phase() == "recovering"
    assert "may still run" in cluster.ctl("status"), cluster.ctl("status")
    job.wait_for_round(2)
    took = time.monotonic() - begin
    measured("from the cut until the spare runs, with a fence of %.1f s" % FENCE, took, at_most=FENCE + 2)
    assert took >= FENCE - 1, "a heartbeat may have come just before the cut"
    expect_the_spare_in_its_place(job, holders)
    assert stale.is_running() and len(old) == 2 and not any(processes.is_alive(pid) for pid in old)
    assert "--fence_timeout" in stale.tail(5), stale.output()
    found = job.expect_good_end()
    assert lives.closest(found) >= 4, "the old processes have to end 5 s before"
    obedient, killed = (life.last for life in sorted(found, key=lambda life: life.rank) if life.node == "n1")
    assert killed - obedient >= STOP_TIMEOUT - 0.5, "the fence, too, leaves time after the stop signal"


def test_a_persons_word_shortens_the_wait(cluster, network, measured):
    job = start(cluster, network)  # the fence that a spare arms: 120 s
    holders, gone = job.holders(), job.nodes.pop("n1")
    job.far.cut_cable()
    power_off(gone)
    begin = time.monotonic()
    refused = cluster.ctl("fence", "n0", code=1)
    assert "is connected" in refused, refused
    eventually(lambda: job.events("node_lost"), 2 * LEASE, "n1 is lost")
    time.sleep(2)
    assert job.status()["round"] == 1 and cluster.phase() == "recovering", "the fence holds"
    cluster.ctl("fence", "n1")
    fenced = time.monotonic()
    job.wait_for_round(2)
    measured("from the word until the spare runs", time.monotonic() - fenced, at_most=2)
    print("in all %.1f s after the machine vanished" % (time.monotonic() - begin))
    expect_the_spare_in_its_place(job, holders)
    job.expect_good_end()


@pytest.mark.parametrize("who", ["machine", "agent"] if IS_LONG else ["machine"])
def test_what_was_frozen_beyond_its_fence_ends_its_processes_at_once(cluster, network, who):
    """The spare runs already, so there is no time left for a stop signal. If only the agent was frozen, its keeper has
    ended the processes in time."""
    job = start(cluster, network, "--fence_timeout", FENCE)
    holders, frozen = job.holders(), job.nodes.pop("n1")
    victims = everybody_of(frozen) if who == "machine" else [frozen.pid]
    send_all(victims, signal.SIGSTOP)
    job.wait_for_round(2)
    expect_the_spare_in_its_place(job, holders)
    send_all([process.pid for process in processes.named("ms-keeper", frozen.pid)], signal.SIGCONT)
    time.sleep(0.5)
    send_all(victims, signal.SIGCONT)
    frozen.expect(EXIT_FAILED_ELSEWHERE)
    assert lives.closest(job.expect_good_end()) >= 4


def test_a_scheduler_that_dies_in_the_same_moment_waits_the_fence_out_in_full(cluster, network, measured):
    job = start(cluster, network, "--fence_timeout", FENCE, *journal_words(cluster))
    holders, gone = job.holders(), job.nodes.pop("n1")
    job.far.cut_cable()
    power_off(gone)
    job.kill(job.scheduler)
    job.start_scheduler()
    begin = time.monotonic()
    eventually(lambda: job.events("node_lost"), 2 * LEASE, "n1 is lost")
    job.wait_for_round(2, timeout=FENCE + 2)
    took = time.monotonic() - begin
    measured("from the scheduler's return until the spare runs, with a fence of %.1f s" % FENCE, took,
             at_most=LEASE + FENCE + 2)
    assert took >= FENCE - 1
    expect_the_spare_in_its_place(job, holders)
    job.expect_good_end()


# The price of the default times is in docs/recovery.md: a scheduler may be away for 50 s, and a spare runs after 60 s.
# MUSTER_LONG=1 is for a machine that runs nothing else.
@pytest.mark.parametrize("run", range(20 if IS_LONG else 1))
def test_the_default_times_of_a_takeover(cluster, network, measured, run):
    near, far = network.pair()
    job = SplitJob(cluster, near, far, nodes=3)
    job.scheduler_words, job.node_words = [], []
    job.start(has_spare=True)
    time.sleep(5)  # two heartbeats: one brings the fence's time to the agent, the next one reports that it is armed
    holders, gone = job.holders(), job.nodes.pop("n1")
    job.far.cut_cable()
    cut = time.monotonic()
    power_off(gone)
    eventually(lambda: job.events("node_lost"), 30, "n1 is lost")
    measured("from the cut until the node is lost, with default times", time.monotonic() - cut,
             at_most=12 if IS_LONG else 20)
    said = job.events("node_lost")[0]["text"]
    assert "no heartbeat for" in said and "TCP got no answer either" in said, said
    eventually(lambda: "nothing to do: spare stand-in takes over in" in cluster.ctl("why"), 10, "it counts down")
    job.wait_for_round(2, timeout=70)
    took = time.monotonic() - cut
    measured("from the cut until the spare's processes start, with default times", took, at_most=65 if IS_LONG else 75)
    assert took >= 57, "the last heartbeat came at most 2 s before the cut"
    expect_the_spare_in_its_place(job, holders)
    job.expect_good_end()
