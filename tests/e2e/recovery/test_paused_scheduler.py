"""A scheduler that stood still for several leases received no heartbeats in that time, and holds it against no node."""

import os
import signal
import time

import processes
from muster import SLOWNESS, eventually
from resuming import Lines

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
AGENTS = 100
LEASE, STOPPED = (10, 60) if IS_LONG else (6, 16)  # seconds


def test_after_sigcont_no_node_is_dead(cluster, measured):
    job = Lines(cluster, ["sleep", "1000"], nodes=AGENTS, slots=1,
                scheduler_words=["--node_timeout", LEASE, "--fence_timeout", 120])
    job.start_scheduler()
    for i in range(AGENTS):
        job.start_node("n%d" % i)
    cluster.wait_until_running(AGENTS, timeout=90)
    before, placement = job.pids(), job.placement()

    job.scheduler.send(signal.SIGSTOP)
    time.sleep(STOPPED)
    job.scheduler.send(signal.SIGCONT)
    begin = time.monotonic()

    def nodes():
        return [node for job in cluster.ctl_json("nodes")["jobs"] for node in job["nodes"]]

    def are_all_heard():
        return all(node["state"] == "connected" and node["last_seen_ms"] < LEASE * 1000 / 3 for node in nodes())
    eventually(are_all_heard, LEASE, "every agent is heard again")
    measured("from SIGCONT until every agent is heard again", time.monotonic() - begin, at_most=LEASE / 2)
    # A loss could still be declared at the end of the leases that the scheduler has extended.
    time.sleep(LEASE * 1.2 * SLOWNESS)
    assert all(node["state"] == "connected" for node in nodes())
    eventually(are_all_heard, LEASE, "every agent is still heard")
    losses = [event["text"] for event in job.events("node_lost") + job.events("round_aborted")]
    assert not losses, "%d losses, the first: %s" % (len(losses), losses[0])
    assert (job.status()["round"], job.status()["phase"]) == (1, "running")
    assert (job.pids(), job.placement()) == (before, placement)
    assert all(processes.is_alive(pid) for pid in before.values())
    assert all(node.is_running() for node in job.nodes.values())
