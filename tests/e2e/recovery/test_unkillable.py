"""A process that can't be killed hides no death, and nothing starts in its place; a stopped shim is noticed."""

import re
import signal
import sys
import time

import processes
from held import Held
from muster import BIN, EXIT_FAILED_ELSEWHERE, eventually, kill_now

# It has a child of its own, which the tests hold.
CHILD = ["sh", "-c", "echo hello from $RANK; sleep 1000 & sleep 1000; wait"]


def start(cluster, *words):
    scheduler = cluster.start_scheduler("--worker_num", 2, *words)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2, "--node_id", "n%d" % i, *words], CHILD)
              for i in range(2)]
    ranks = cluster.wait_until_running(2, timeout=60)
    victim = next(rank for rank in ranks if rank["node_id"] == "n0")
    eventually(lambda: len(processes.descendants(victim["pid"])) == 2, 10, "it has its children")
    return scheduler, agents, victim


def test_a_job_without_recovery_fails_at_once_with_the_cause(cluster, measured):
    _, agents, victim = start(cluster)
    own = [process.pid for process in processes.descendants(agents[0].pid) if process.name in processes.OWN]
    left = processes.descendants(victim["pid"])[0].pid
    held = Held(left)
    killed = kill_now(victim["pid"])
    assert agents[1].wait(20) == EXIT_FAILED_ELSEWHERE, cluster.describe()
    measured("from the death to the other agent's end", time.monotonic() - killed, at_most=2)
    cause = cluster.ctl_json("status")["runs"][0]["outcome"]["cause"]
    assert (cause["rank"], cause["signal"]) == (victim["rank"], 9), cause
    assert agents[0].wait(20) == 128 + 9, cluster.describe()
    measured("until the agent ends without it", time.monotonic() - killed, at_most=15)
    assert "process %d (sleep, state t) of rank %d can't be killed" % (left, victim["rank"]) in agents[0].output()
    assert cause["text"] in agents[0].tail(1), "the cause comes last"
    keeper = [pid for pid in own if processes.is_alive(pid) and processes.read_process(pid).name == "ms-keeper"]
    assert keeper, "it goes on, and holds the node's lock"
    held.release()
    eventually(lambda: not any(processes.is_alive(pid) for pid in own), 10, "all that was left has ended")


def test_the_next_round_waits_and_says_for_which_process(cluster):
    _, agents, victim = start(cluster, "--enable_recovery", 1)
    left = processes.descendants(victim["pid"])[0].pid
    held = Held(left)
    kill_now(victim["pid"])
    eventually(lambda: cluster.phase() == "recovering", 5, "the death is known")
    wanted = "process %d (sleep, state t) of node n0" % left
    eventually(lambda: wanted in cluster.ctl("why"), 15, "it is said for which process the job waits")
    assert "process %d (sleep, state t) of rank" % left in agents[0].output(), agents[0].output()
    assert all("round 2" not in agent.output() for agent in agents), "nothing has started"
    held.release()
    eventually(lambda: all("round 2" in agent.output() for agent in agents), 20, "the next round has begun")
    cluster.wait_until_running(2)
    for agent in agents:
        agent.send(signal.SIGTERM)
        assert agent.wait(20) == 128 + signal.SIGTERM


def test_a_stopped_shim_is_reported_and_ended(cluster, measured):
    script = "import os, sys; os.kill(os.getppid(), 19); sys.exit(3)"
    begun = time.monotonic()
    agent = cluster.start("alone", [BIN / "ms-worker", "--standalone", "--local_worker_num", 1, "--", sys.executable, "-c",
                                    script])
    assert agent.wait(30) == 3, agent.output()
    measured("until the job has failed", time.monotonic() - begun, at_most=15)
    said = re.search(r"the shim of slot 0 \(process (\d+)\) was stopped by SIGSTOP: kill -CONT (\d+) lets it go on",
                     agent.output())
    assert said and said[1] == said[2], agent.output()
    assert "ended with exit code 3: its shim (pid %s) was stopped by SIGSTOP for 5 s" % said[1] in agent.tail(2)
