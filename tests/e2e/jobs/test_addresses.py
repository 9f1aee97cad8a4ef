"""IPv6, host names, and programs that hold a port."""

import re
import socket

import pytest

from muster import EXIT_UNREACHABLE, TRAIN

SLEEP = ["sleep", "1000"]


def has_v6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def test_v6_loopback_works_like_v4(cluster, any_torch):
    if not has_v6():
        pytest.skip("no IPv6 on this machine")
    scheduler = cluster.start_scheduler("--once", "--worker_num", 2, host="::1")
    assert scheduler.host == "::1"
    agents = cluster.start_agents(2, ["--worker_num", 2], [any_torch, TRAIN, "--epochs", 1])
    for agent in agents:
        agent.expect(0, timeout=90)
    scheduler.expect(0)


def test_v6_between_two_machines(cluster, network):
    first, second = network.pair(v6=True)
    scheduler = cluster.start_scheduler("--once", "--worker_num", 2, host=first.address, netns=first.name)
    assert scheduler.host == first.address
    command = ["sh", "-c", "echo master=$MASTER_ADDR nodes=$NNODES local=$LOCAL_RANK; sleep 1"]
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2, "--node_id", i], command, netns=machine.name)
              for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0)
        assert "master=%s nodes=2 local=0" % first.address in agent.output(), agent.output()


def test_a_host_name_works(cluster):
    scheduler = cluster.start_scheduler("--once", "--worker_num", 1, host="localhost")
    agent = cluster.start_agent("agent", ["--sched_host", "localhost", "--sched_port", scheduler.port,
                                          "--worker_num", 1], ["true"])
    agent.expect(0)
    scheduler.expect(0)
    assert re.search(r"localhost", cluster.ctl("status", "--sched_host", "localhost", code=10))


def test_a_name_that_does_not_resolve_is_said_and_retried(cluster):
    agent = cluster.start("agent", ["ms-worker", "--sched_host", "no-such-host.invalid", "--cluster_retry_num", "2",
                                    "--worker_num", "1", "--", *SLEEP])
    agent.expect_said(r"no-such-host\.invalid", timeout=20)
    assert agent.is_running(), "it tries again:\n" + agent.output()
    agent.expect(EXIT_UNREACHABLE, timeout=60)


@pytest.mark.xdist_group("port 8118")
def test_a_second_scheduler_names_the_holder_of_the_port(cluster, network):
    machine = network.machine()
    first = cluster.start_scheduler(port=8118, netns=machine.name)
    second = cluster.start("second", ["ms-scheduler", "--sched_port", "8118"], netns=machine.name)
    code = second.wait(20)
    assert code not in (0, 128 + 6), second.output()
    assert "8118" in second.output(), second.output()
    assert re.search(r"ms-scheduler|pid %d\b|already|in use" % first.pid, second.output()), second.output()
    assert str(first.pid) in second.output(), "it names the process:\n" + second.output()
    assert first.is_running()


def test_a_foreign_program_on_the_port_is_named(cluster):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        scheduler = cluster.start("scheduler", ["ms-scheduler", "--sched_port", str(port)])
        assert scheduler.wait(20) not in (0, 128 + 6)
        assert str(port) in scheduler.output(), scheduler.output()
