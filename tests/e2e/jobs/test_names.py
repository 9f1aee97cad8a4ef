"""Names and addresses: unknown so far, of this machine only, of one cable only, different from another node's."""

import re
import signal
import socket
import urllib.parse

import pytest

from muster import BIN, EXIT_UNREACHABLE, free_port

EXIT_USAGE = 2
SHOW = ["sh", "-c", 'echo "told=$0"']


def told(agent):
    return re.search(r"told=(\S+)", agent.output()).group(1)


def test_with_scheduler_waits_for_a_name_that_is_not_known_yet(cluster, network):
    machine = network.machine()
    words = ["--with_scheduler", "--worker_num", "1", "--sched_host", "pod-0.not-yet", "--sched_port", free_port()]
    machine.set_hosts("127.0.0.1 localhost\n")
    agent = cluster.start("agent", [BIN / "ms-worker", *words, "--", "true"], netns=machine.name)
    agent.expect_said(r"INFO .*sched_host .*\"pod-0\.not-yet\" can't be resolved.*looking it up again for up to 30m",
                      timeout=5)
    machine.set_hosts("127.0.0.1 localhost pod-0.not-yet\n")
    agent.expect(0)


def test_the_wait_for_a_name_ends_with_a_signal_and_with_patience(cluster):
    words = ["ms-worker", "--sched_host", "127.0.0.1", "--worker_num", "1", "--torch_master_addr", "no-such-host.invalid"]
    agent = cluster.start("agent", [*words, "--", "true"])
    agent.expect_said("torch_master_addr .MASTER_ADDR.*no-such-host.invalid", timeout=5)
    agent.send(signal.SIGTERM)
    agent.expect(128 + signal.SIGTERM, timeout=10)
    agent = cluster.start("impatient", ["ms-worker", "--with_scheduler", "--sched_host", "no-such-host.invalid",
                                        "--worker_num", "1", "--cluster_retry_num", "1", "--", "true"])
    agent.expect(EXIT_UNREACHABLE, timeout=30)
    assert "gave up after" in agent.output(), agent.output()


def test_a_scheduler_of_this_machine_only_is_warned_of(cluster):
    words = ["--worker_num", "2", "--sched_host", "localhost"]
    own = cluster.start("own", ["ms-worker", "--with_scheduler", *words, "--sched_port", free_port(), "--", "true"])
    own.expect_said(r"WARNING .*sched_host .* is localhost, which means this machine on every node", timeout=5)
    none = cluster.start("none", ["ms-worker", *words, "--sched_port", free_port(), "--", "true"])
    none.expect_said(r"waiting for the scheduler at localhost.*means this machine on every node", timeout=5)
    scheduler = cluster.start_scheduler()
    alone = cluster.start_agent("alone", ["--worker_num", 2], ["true"], scheduler=scheduler)
    alone.expect_said(r"WARNING .*sched_host .* is 127\.0\.0\.1, which means this machine", timeout=20)
    assert own.output().count("means this machine") == 1, own.output()


@pytest.mark.parametrize("variables, expected", [
    ([{"MASTER_PORT": 29511}, {"MASTER_PORT": 29512}], r"WARNING .*MASTER_PORT is 29512 here, but 29511 for rank 0's"),
    ([{"CM_CHIEF_PORT": 6000}, {"CM_CHIEF_PORT": 6001}], r"WARNING .*CM_CHIEF_PORT is 6001 here, but 6000"),
    ([{"JAX_COORDINATOR_ADDRESS": "a:1"}, {"JAX_COORDINATOR_ADDRESS": "b:1"}],
     r"WARNING .*JAX_COORDINATOR_ADDRESS is b:1 here, but a:1")])
def test_endpoints_that_differ_are_reported_before_the_processes_start(cluster, variables, expected):
    scheduler = cluster.start_scheduler("--worker_num", 2)
    agents = [cluster.start_agent("agent%d" % i, ["--node_id", "n%d" % i, "--machine", "m%d" % i], ["echo", "begun"],
                                  env=variables[i]) for i in range(2)]
    for agent in agents:
        agent.expect(0)
    text = agents[1].output()
    assert re.search(expected, text) and text.index(" here, but ") < text.index("begun"), text
    assert "WARNING" not in agents[0].output(), agents[0].output()
    scheduler.expect_said(expected.replace("WARNING .*", "WARNING .*node n1 .*"))


def test_a_loopback_master_in_a_job_of_two_machines_is_reported(cluster, network):
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 2, host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--node_rank", i], ["true"], netns=machine.name,
                                  env={"MASTER_ADDR": "localhost"}) for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0)
    assert re.search(r"WARNING .*MASTER_ADDR is localhost here, which means this machine only, but rank 0 is on .*%s"
                     % re.escape(first.address), agents[1].output()), agents[1].output()
    assert "WARNING" not in agents[0].output(), agents[0].output()


def test_the_master_of_an_ipv6_job_stands_in_a_url(cluster):
    for name, argument in (("master", "tcp://{master}"), ("both", "tcp://{master_addr}:{master_port}")):
        agent = cluster.start(name, ["ms-worker", "--with_scheduler", "--sched_host", "[::1]:%d" % free_port(),
                                     "--worker_num", "1", "--", *SHOW, argument])
        agent.expect(0)
        url = urllib.parse.urlparse(told(agent))
        assert url.hostname == "::1" and url.port > 0, url


def test_a_link_local_address_is_refused_at_once_with_the_remedy(cluster):
    for program, words in (("ms-worker", ["--sched_host", "[fe80::1%lo]:8118"]), ("ms-worker", ["--worker_ip", "fe80::1"]),
                           ("ms-worker", ["--torch_master_addr", "fe80::1%lo"]),
                           ("ms-scheduler", ["--sched_host", "fe80::1"]),
                           ("ms-scheduler", ["--sched_port", "0", "--listen_address", "fe80::1%lo"]),
                           ("ms-scheduler", ["--sched_port", "0", "--http_address", "[fe80::1%lo]:9000"]),
                           ("ms-ctl", ["status", "--sched_host", "fe80::1%lo"])):
        tail = ["--", "true"] if program == "ms-worker" else []
        refused = cluster.start("refused", [program, *words, *tail])
        assert refused.wait(10) != 0, (program, words)
        assert "must not be a link-local IPv6 address" in refused.output(), refused.output()
        assert "ip -6 addr add" in refused.output(), refused.output()
        refused.log.unlink()


def test_the_http_port_of_a_debian_host_name_is_reached_from_elsewhere(cluster, network, tmp_path):
    machine, other = network.pair()
    machine.set_hosts("127.0.0.1 localhost\n127.0.1.1 node1\n")
    token = tmp_path / "token"
    token.write_text("a" * 40)
    token.chmod(0o600)
    port = free_port()
    scheduler = cluster.start_scheduler("--http_address", "node1:%d" % port, "--http_token_file", token,
                                        host=machine.address, netns=machine.name)
    scheduler.expect_said(r"--http_address \"node1\" means 127\.0\.1\.1 here.*listening on all addresses")
    probe = cluster.start("probe", ["python3", "-c", "import socket; socket.create_connection(('%s', %d), 5)"
                                    % (machine.address, port)], netns=other.name)
    probe.expect(0)
    scheduler.send(signal.SIGTERM)
    refused = cluster.start("refused", [BIN / "ms-scheduler", "--sched_port", "0", "--http_address", "node1:%d" % port],
                            netns=machine.name)
    assert refused.wait(10) != 0
    assert "http_address is not a loopback address" in refused.output(), refused.output()


def test_standalone_takes_the_port_that_its_line_names(cluster):
    port = free_port()
    agent = cluster.start("agent", ["ms-worker", "--standalone", "--sched_port", port, "--log_dir", "logs", "--", "true"])
    agent.expect(0)
    assert "listening on 127.0.0.1:%d" % port in (cluster.folder / "logs/scheduler.log").read_text()
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = cluster.start("taken", ["ms-worker", "--standalone", "--sched_host",
                                        "localhost:%d" % holder.getsockname()[1], "--", "true"])
        taken.expect(EXIT_USAGE)
        assert re.search(r"port \d+ \(--sched_port\) is in use", taken.output()), taken.output()


def test_a_foreign_masters_address_is_not_taken_by_standalone(cluster):
    """A pod of Kubeflow's PyTorchJob has the MASTER_ADDR of another pod."""
    command = [BIN / "ms-worker", "--standalone", "--", "sh", "-c", 'echo "told=$MASTER_ADDR"']
    agent = cluster.start("agent", command, env={**cluster.env, "MASTER_ADDR": "192.0.2.1", "MASTER_PORT": "23456"})
    agent.expect(0)
    assert "MASTER_ADDR and MASTER_PORT of the environment are not used: 192.0.2.1" in agent.output()
    assert told(agent) == "127.0.0.1"
    unknown = cluster.start("unknown", command, env={**cluster.env, "MASTER_ADDR": "master.invalid"})
    unknown.expect(0)
    assert 'are not used: the host name "master.invalid" can\'t be resolved' in unknown.output(), unknown.output()
    assert "no address of this machine" not in unknown.output()
    own = cluster.start("own", command, env={**cluster.env, "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())})
    own.expect(0)
    assert told(own) == "localhost" and "not used" not in own.output()
