"""Agent, guardian, keeper and shims are killed in one instant (pkill -9 ms-), or one of them while the others are only
stopped. No rank lives twice, no matter how the processes changed their environment."""

import os
import signal
import sys

import pytest

import lives
import processes
from muster import SCRIPTS, eventually

# A shell's children outlive its death; each keeps the variables of its environment that it needs itself.
KEEPS = " ".join('%s="$%s"' % (name, name) for name in ("RANK", "MS_ROUND", "MUSTER_NODE_ID", "MS_CLUSTER_FILE"))
BARE = "env -i %s %s -S %s {notes}; exit $?" % (KEEPS, sys.executable, SCRIPTS / "holder.py")
FENCE, STOP = 8, 1


class Job:
    """Two nodes of one process each, on machines of their own by name; `spare`: a third node stands by."""

    def __init__(self, cluster, *scheduler_words, agent_words=(), spare=False):
        self.cluster, self.notes = cluster, cluster.folder / "notes"
        self.notes.mkdir()
        self.agent_words = agent_words
        cluster.env["MS_ENABLE_RECOVERY"] = "1"
        cluster.start_scheduler("--disconnect_grace", 1, "--heartbeat_interval", 0.5, "--stop_timeout", STOP,
                                *scheduler_words)
        self.agents = {"n0": self.start("n0"), "n1": self.start("n1")}
        if spare:
            self.agents["spare"] = self.start("spare", "--spare")
        self.ranks = cluster.wait_until_running(2, timeout=60)
        eventually(lambda: len(list(self.notes.glob("*.life"))) == 2, 20, "both processes write")

    def start(self, node, *words):
        name = node if node not in getattr(self, "agents", {}) else node + "-again"
        return self.cluster.start_agent(name, ["--worker_num", 2, "--local_worker_num", 1, "--node_id", node, "--machine",
                                               node, "--stop_timeout", STOP, *self.agent_words, *words],
                                        ["sh", "-c", BARE.format(notes=self.notes)])

    def row(self, node):
        pid = self.agents[node].pid
        return [pid, *(process.pid for name in ("ms-guardian", "ms-keeper", "ms-shim")
                       for process in processes.named(name, pid))]

    def holder(self, node):
        """The pid of the node's process that holds the rank, as this test sees it."""
        return next(process.pid for process in processes.descendants(self.agents[node].pid)
                    if "holder.py" in process.command and not process.command.startswith("sh "))

    def kill_row(self, node):
        processes.kill_together(self.agents[node].pid, "ms-guardian", "ms-keeper", "ms-shim")

    def round(self):
        return self.cluster.ctl_json("status")["runs"][0]["round"]

    def expect_next_round(self, timeout=30):
        eventually(lambda: self.round() == 2 and self.cluster.phase() == "running", timeout, "the next round runs")
        eventually(lambda: len(list(self.notes.glob("*round2*.life"))) == 2, 20, "both processes write again")

    def expect_good_end(self):
        (self.notes / "go").touch()
        eventually(lambda: self.cluster.phase() == "succeeded", 30, "the job succeeds")
        assert not lives.faults(lives.read(self.notes))


def test_the_next_start_finds_what_has_cleared_its_environment(cluster):
    job = Job(cluster)
    left = job.holder("n1")
    with open("/proc/%d/environ" % left, "rb") as file:
        assert b"MUSTER_START" not in file.read()
    job.kill_row("n1")
    assert processes.is_alive(left), "the shell's child outlives the four"
    job.agents["n1"] = job.start("n1")
    job.expect_next_round()
    assert not processes.is_alive(left)
    job.expect_good_end()


def test_a_start_that_may_not_see_all_processes_waits_and_says_why(cluster):
    """With hidepid, processes that the command runs as another user could be hidden."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount /proc and act as another user")
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 8):
        pytest.skip("before Linux 5.8 the option holds for every /proc of the machine")
    job = Job(cluster)
    left = job.holder("n1")
    job.kill_row("n1")
    without = "exec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace"
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && %s "$@"' % without, "sh"]
    again = job.cluster.start("n1-again", [*hidden, *job.agents["n1"].popen.args], env=dict(cluster.env))
    eventually(lambda: "hidepid" in cluster.ctl("why"), 20, "`why` says what hides the processes")
    assert "ms-ctl fence n1" in cluster.ctl("why")
    assert job.round() == 1
    os.kill(left, signal.SIGKILL)
    cluster.ctl("fence", "n1")
    job.agents["n1"] = again
    job.expect_next_round()
    job.expect_good_end()


@pytest.mark.parametrize("killed", ["agent", "guardian", "keeper"])
def test_one_is_killed_while_the_others_are_stopped(cluster, killed):
    """A spare takes over at the fence's time; by then the next one below has woken and ended the rest."""
    job = Job(cluster, "--fence_timeout", FENCE, "--node_timeout", 3, spare=True)  # a stopped agent is only silent
    left, row = job.holder("n1"), job.row("n1")
    assert len(row) == 4
    processes.stop(*row)
    os.kill(row[["agent", "guardian", "keeper"].index(killed)], signal.SIGKILL)
    job.expect_next_round(timeout=40)
    assert not processes.is_alive(left)
    for pid in row:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    job.expect_good_end()


def test_in_a_pid_namespace_the_kernel_ends_what_is_left(cluster):
    job = Job(cluster, "--fence_timeout", FENCE, "--fence_needs", "all-four", agent_words=["--isolate", "pid"], spare=True)
    shown = {rank["node_id"]: rank["pid"] for rank in job.ranks}
    process = processes.read_process(shown["n1"])
    assert process is not None and process.command.startswith("sh "), "ms-ctl shows the pid as it is outside"
    left = job.holder("n1")
    job.kill_row("n1")
    eventually(lambda: not processes.is_alive(left), 5, "the kernel has ended it")
    job.expect_next_round(timeout=40)
    job.expect_good_end()


def test_a_site_may_ask_that_the_fence_hold_for_all_four(cluster):
    job = Job(cluster, "--fence_timeout", FENCE, "--fence_needs", "all-four", spare=True)
    left = job.holder("n1")
    job.kill_row("n1")
    eventually(lambda: "not guaranteed" in cluster.ctl("why"), 20, "`why` says that time alone shows nothing")
    assert "ms-ctl fence n1" in cluster.ctl("why")
    assert job.round() == 1 and processes.is_alive(left)
    job.agents["n1"] = job.start("n1")  # it ends the remaining processes, so it has its ranks back
    job.expect_next_round()
    assert not processes.is_alive(left)
    job.expect_good_end()
