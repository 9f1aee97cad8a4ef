"""While a job forms, all programs report which nodes are missing and how much time is left."""

import os
import pty
import re
import socket

import pytest

from muster import EXIT_UNREACHABLE, eventually

SLEEP = ["sleep", "1000"]


def start_seven(cluster):
    cluster.start_scheduler("--worker_num", 8, "--topo_timeout", 600)
    return [cluster.start_agent("agent%d" % i, ["--worker_num", 8, "--node_id", i], SLEEP)
            for i in (0, 1, 2, 3, 4, 6, 7)]


def test_agents_and_status_name_the_missing_one_and_the_time_left(cluster):
    agents = start_seven(cluster)
    for agent in agents:
        agent.expect_said(r"7 of 8.*missing[^0-9]*5\b", timeout=30)
        agent.expect_said(r"\d+ (s|min|minutes)\b", timeout=1)
    run = cluster.ctl_json("status")["runs"][0]
    assert run["phase"] == "forming"
    assert run["waiting"]["workers_here"] == 7 and run["waiting"]["workers_needed"] == 8
    assert 0 < run["waiting"]["time_left_ms"] <= 600_000
    shown = cluster.ctl("status")
    assert re.search(r"7 of 8.*missing[^0-9]*5\b", shown), shown
    assert re.search(r"time left +\d+ min", shown), shown
    nodes = cluster.ctl_json("nodes")["jobs"][0]["nodes"]
    assert sorted(node["node_id"] for node in nodes) == list("0123467")
    assert {node["host_name"] for node in nodes} == {socket.gethostname()}


def test_the_last_one_ends_the_waiting(cluster):
    agents = start_seven(cluster)
    agents[0].expect_said(r"7 of 8")
    cluster.start_agent("agent5", ["--worker_num", 8, "--node_id", 5], SLEEP)
    ranks = cluster.wait_until_running(8)
    assert [(rank["rank"], rank["node_id"]) for rank in ranks] == [(i, str(i)) for i in range(8)]


@pytest.mark.xdist_group("port 8118")
def test_an_agent_without_scheduler_retries_quietly_and_then_gives_up_with_10(cluster, network):
    machine = network.machine()
    agent = cluster.start("agent", ["ms-worker", "--sched_host", "127.0.0.1", "--sched_port", "8118",
                                    "--cluster_retry_num", "3", "--worker_num", "1", "--", *SLEEP], netns=machine.name)
    agent.expect(EXIT_UNREACHABLE, timeout=40)
    lines = agent.our_lines()
    assert len(lines) <= 4, agent.output()
    assert re.search(r"127\.0\.0\.1:8118", lines[0]), lines
    assert re.search(r"MS_SCHED_HOST|sched_host", lines[-1]), lines


@pytest.mark.xdist_group("port 8118")
def test_an_agent_that_came_first_finds_the_scheduler(cluster, network):
    machine = network.machine()
    agent = cluster.start("agent", ["ms-worker", "--sched_port", "8118", "--worker_num", "1", "--", "true"],
                          netns=machine.name)
    agent.expect_said("127.0.0.1:8118")
    cluster.start_scheduler(port=8118, netns=machine.name)
    agent.expect(0, timeout=20)


def test_the_ladder_of_timeouts_is_checked(cluster):
    def findings(*words):
        scheduler = cluster.start("check%d" % len(cluster.programs), ["ms-scheduler", "--check_config", *words])
        return scheduler.wait(10), scheduler.output()
    code, text = findings()
    assert code == 0, text
    for name in ("heartbeat", "node_timeout", "topo_timeout"):
        assert name in text, text
    code, text = findings("--node_timeout", "1", "--heartbeat_interval", "2")
    assert "node_timeout" in text and (code == 2 or "WARNING" in text or "warning" in text), text
    code, text = findings("--rejoin_timeout", "4000", "--topo_timeout", "100")
    assert "rejoin_timeout" in text and "topo_timeout" in text, text


def test_a_terminal_shows_progress_live(cluster):
    cluster.start_scheduler("--worker_num", 2)
    master, slave = pty.openpty()
    agent = cluster.start("agent", ["script", "-qfec", "ms-worker --worker_num 2 %s -- sleep 1000" % " ".join(
        str(word) for word in cluster.agent_words()), "/dev/null"], stdin=slave)
    os.close(slave)
    eventually(lambda: "1 of 2" in agent.output(), 15, "the terminal shows how many nodes are there")
    os.close(master)
