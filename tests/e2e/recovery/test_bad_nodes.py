"""Nodes with a broken device, a failing node check, or too little processor time. The failures and the kernel's log are
real; devices are files. Each agent has a machine of its own by name (--machine), so that spares fit."""

import json
import os
import pathlib
import re
import signal
import sys
import time

import pytest

import control_group
from muster import EXIT_REFUSED, eventually

RECIPES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "node_checks"
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=%d, name=sh, GPU has fallen off the bus."


def start(cluster, name, *words, command, **options):
    return cluster.start_agent(name, ["--worker_num", 2, "--node_id", name, "--machine", name, "--stop_timeout", 2, *words],
                               ["sh", "-c", command], **options)


def ranks(cluster):
    """The node and the state of each rank."""
    return {rank["rank"]: (rank["node_id"], rank["state"]) for job in cluster.ctl_json("ranks")["jobs"]
            for rank in job["ranks"]}


def when(condition, timeout, what):
    eventually(condition, timeout, what)
    return time.time()


def expect_nothing_but_the_scheduler(cluster):
    cluster.scheduler.send(signal.SIGTERM)
    cluster.scheduler.wait(10)
    cluster.expect_nothing_left()


@pytest.fixture
def scheduler(cluster):
    cluster.env["MS_ENABLE_RECOVERY"] = "1"
    return lambda *words: cluster.start_scheduler("--worker_num", 2, *words)


def fails_once(cluster, how):
    """A command that runs on, but on node b fails when the file "now" appears."""
    return ("while :; do [ -e %s/now ] && [ $MUSTER_NODE_ID = b ] && { date +%%s.%%N >%s/ended; %s; }; sleep 0.05; done"
            % (cluster.folder, cluster.folder, how))


def test_a_spare_takes_over_from_a_broken_device(cluster, scheduler, measured):
    scheduler("--max_restarts", 0)
    command = fails_once(cluster, "echo '%s' >&2; exit 1" % ECC)
    nodes = {name: start(cluster, name, *words, command=command) for name, words in
             {"a": (), "b": (), "c": ("--spare",)}.items()}
    cluster.wait_until_running(2)
    eventually(lambda: "c" in cluster.ctl("nodes"), 10, "the spare stands by")
    (cluster.folder / "now").touch()
    taken = when(lambda: ranks(cluster) == {0: ("a", "running"), 1: ("c", "running")}, 20, "the spare has the rank")
    ended = float((cluster.folder / "ended").read_text())
    measured("from the end of a process on a broken device to its rank on the spare", taken - ended, at_most=1)
    nodes["b"].expect(0, 10)  # the job goes on without it
    assert "drained" in nodes["b"].output(), nodes["b"].output()
    assert re.search("drained by the scheduler: rank 1 on .* ended with exit code 1", cluster.scheduler.output())


def test_without_a_spare_the_node_is_named_and_the_budget_counts(cluster, scheduler):
    scheduler("--max_restarts", 1)
    command = fails_once(cluster, "echo '%s' >&2; exit 1" % ECC)
    nodes = [start(cluster, name, command=command) for name in ("a", "b")]
    cluster.wait_until_running(2)
    (cluster.folder / "now").touch()
    assert nodes[0].wait(30) == 16 and nodes[1].wait(30) == 16, cluster.describe()
    assert "node b" in cluster.scheduler.output()
    assert re.search(r"node b \(.*\) may be broken: .*; no spare fits", cluster.scheduler.output())
    cause = cluster.ctl_json("why")["runs"][0]["outcome"]["cause"]
    assert cause["reason"] == "device_fault" and cause["failure_kind"] == "device" and cause["node_id"] == "b", cause


def test_an_xid_in_the_kernels_log_names_the_device(cluster, scheduler):
    kernel = pathlib.Path("/dev/kmsg")
    if not os.access(kernel, os.R_OK | os.W_OK):
        pytest.skip("the kernel's log can't be read and written here")
    root = cluster.folder / "host"
    for name, text in {"dev/nvidia0": "", "dev/nvidia1": "",
                       "proc/driver/nvidia/gpus/0000:3b:00.0/information": "Device Minor: \t 0\n",
                       "proc/driver/nvidia/gpus/0000:5e:00.0/information": "Device Minor: \t 1\n"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "dev/kmsg").symlink_to(kernel)
    scheduler("--max_restarts", 0)
    # The program says nothing of its own, as one whose driver has lost its device.
    command = fails_once(cluster, "kill -ABRT $$")
    env = {"MUSTER_HOST_ROOT": root}
    nodes = {}
    for name, device, words in (("a", 1, ()), ("b", 0, ()), ("c", "none", ("--spare",))):
        nodes[name] = start(cluster, name, "--devices", device, *words, command=command, env=env)
    cluster.wait_until_running(2)
    eventually(lambda: "c" in cluster.ctl("nodes"), 10, "the spare stands by")
    kernel.write_text("<4>" + XID % os.getpid() + "\n")
    nodes["b"].expect_said("the kernel reports a fault of device 0: NVRM: Xid", 5)
    (cluster.folder / "now").touch()
    eventually(lambda: ranks(cluster) == {0: ("a", "running"), 1: ("c", "running")}, 20, "the spare has the rank")
    assert "the kernel reports Xid 79: the GPU has fallen off the bus" in cluster.scheduler.output()
    assert "the kernel reports a fault" not in nodes["a"].output(), "it is not a's device"


@pytest.mark.parametrize("check, reason", [
    ("echo GPU 3 has errors; exit 1", "ended with code 1; its last line: GPU 3 has errors"),
    ("sleep 1000", "did not end within 1 s"),
    ("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo too much; exit 1", "its last line: too much"),
    ("head -c 100000 /dev/urandom; exit 1", "ended with code 1"),
    ("kill -SEGV $$", "was ended by signal 11"),
], ids=["fails", "hangs", "writes 10 MB", "writes garbage", "crashes"])
def test_a_node_whose_check_fails_takes_no_part(cluster, scheduler, check, reason):
    scheduler()
    agent = start(cluster, "a", "--preflight", "command", "--node_check", check, "--node_check_timeout", 1, command="true")
    agent.expect(EXIT_REFUSED, 20)
    assert reason in agent.our_lines()[-1] and "this node takes no part" in agent.our_lines()[-1], agent.tail()
    assert len(agent.output()) < 20000
    assert "node a" not in cluster.scheduler.output()
    expect_nothing_but_the_scheduler(cluster)


def test_a_signal_ends_the_check(cluster, scheduler):
    scheduler()
    agent = start(cluster, "a", "--preflight", "command", "--node_check", "echo begun; sleep 1000", command="true")
    agent.expect_said("node check: .* runs, for at most 300 s")
    agent.send(signal.SIGTERM)
    agent.expect(128 + signal.SIGTERM, 10)
    expect_nothing_but_the_scheduler(cluster)


def checked(cluster, name, *words, command):
    """Starts a node whose check counts its runs, and fails if the file "broken" exists."""
    check = "echo x >>%s/checks-%s; [ ! -e %s/broken ] || { echo broken; exit 1; }" % (cluster.folder, name, cluster.folder)
    return start(cluster, name, "--preflight", "command", "--node_check", check, *words, command=command)


def checks(cluster, name):
    return len((cluster.folder / ("checks-%s" % name)).read_text().split())


def test_a_node_is_checked_again_after_a_failure_that_may_come_from_it(cluster, scheduler):
    scheduler()
    command = ("if [ $MUSTER_NODE_ID = b ]; then case $MS_RESTART_COUNT in 0) exit 3;; "
               "1) echo \"Traceback (most recent call last):\n  File \\\"train.py\\\", line 1, in <module>\n"
               "KeyError: 'lr'\" >&2; exit 1;; esac; fi; sleep 1000")
    nodes = {name: checked(cluster, name, command=command) for name in ("a", "b")}
    eventually(lambda: [run["restart_count"] for run in cluster.ctl_json("status")["runs"]] == [2], 30, "two restarts")
    cluster.wait_until_running(2)
    assert checks(cluster, "a") == 1 and checks(cluster, "b") == 2, (checks(cluster, "a"), checks(cluster, "b"))
    nodes["b"].expect_said("node check: runs again, since the last failure may come from this node")


def test_a_node_that_fails_its_second_check_gives_its_place_to_a_spare(cluster, scheduler):
    scheduler()
    command = "if [ $MUSTER_NODE_ID = b ]; then touch %s/broken; exit 3; fi; sleep 1000" % cluster.folder
    nodes = {name: checked(cluster, name, command=command) for name in ("a", "b")}
    # The spare has no check: the file would fail it, too.
    nodes["c"] = start(cluster, "c", "--spare", command=command)
    eventually(lambda: ranks(cluster) == {0: ("a", "running"), 1: ("c", "running")}, 30, "the spare has the rank")
    nodes["b"].expect(EXIT_REFUSED, 20)
    assert "this node leaves the job: the node check (--node_check) ended with code 1; its last line: broken" \
        in nodes["b"].output(), nodes["b"].tail()
    assert any("left: the node check (--node_check) ended with code 1; its last line: broken" in event["text"]
               for event in cluster.ctl_json("events")["events"]), cluster.ctl("events")


def score_words(*words):
    return ["--preflight", "command", "--node_check", "%s %s" % (sys.executable, RECIPES / "speed.py"), *words]


@pytest.fixture
def slow():
    try:
        group = control_group.CpuGroup(0.1)  # other tests beside may slow the healthy nodes down by half
    except OSError as error:
        pytest.skip("no control group: %s" % error)
    yield group.enter
    group.close()


def named_as_slow(cluster):
    found = re.search(r"score: nodes? (\S+(?:, \S+)*) (?:is|are) slow", cluster.scheduler.output())
    return found.group(1) if found else None


def start_scored(cluster, name, *words, **options):
    """Starts a node and waits for the end of its check, so that no two checks run at once."""
    agent = cluster.start_agent(name, ["--worker_num", 3, "--node_id", name, "--machine", name, *score_words(*words)],
                                ["sh", "-c", "sleep 1000"], **options)
    agent.expect_said("node check: fit, after .* muster-score=", 60)
    return agent


@pytest.mark.measures
def test_a_slow_node_is_named_by_its_score(cluster, slow):
    cluster.start_scheduler("--worker_num", 3)
    start_scored(cluster, "a")
    start_scored(cluster, "b")
    agent = start_scored(cluster, "slow", limits=slow)
    cluster.wait_until_running(3)
    assert named_as_slow(cluster) == "slow", cluster.scheduler.output()
    shown = cluster.ctl("preflight")
    assert "between nodes: warning: score: node slow is slow: its score is" in shown, shown
    levels = {one["check"]: one["level"] for one in json.loads(cluster.ctl("preflight", "--json"))["jobs"][0]["between_nodes"]}
    assert levels["score"] == "warning"
    cluster.ctl("stop", "--yes")
    agent.wait(30)  # else its group could not be removed


@pytest.mark.measures
def test_a_slow_node_gives_its_place_to_a_spare(cluster, slow):
    cluster.start_scheduler("--worker_num", 3)
    words = ["--exclude_stragglers"]
    start_scored(cluster, "d", "--spare", *words)
    start_scored(cluster, "a", *words)
    start_scored(cluster, "b", *words)
    agent = start_scored(cluster, "slow", *words, limits=slow)
    agent.expect(0, 30)
    assert "it is slower than the others (--exclude_stragglers)" in agent.output(), agent.tail()
    cluster.wait_until_running(3, timeout=30)
    assert sorted(node for node, _ in ranks(cluster).values()) == ["a", "b", "d"]


@pytest.mark.long
@pytest.mark.measures
@pytest.mark.parametrize("run", range(20))
def test_no_healthy_node_is_named(cluster, run):
    cluster.start_scheduler("--worker_num", 3)
    for name in ("a", "b", "c"):
        start_scored(cluster, name)
    cluster.wait_until_running(3)
    assert named_as_slow(cluster) is None, cluster.scheduler.output()
