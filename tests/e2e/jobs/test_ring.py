"""ms-ring: good rings, and rings with one bad link, which ms-ring must name each time."""

import json
import os
import re
import socket
import subprocess
import threading

import pytest

from muster import BIN, EXIT_REFUSED, eventually
from resuming import EXIT_GAVE_UP
from ring import Ring

RUNS = 20 if os.environ.get("MUSTER_LONG") == "1" else 2
IPTABLES = "iptables-legacy" if os.path.exists("/usr/sbin/iptables-legacy") else "iptables"
# The machine may be busy: no rank is called slow in tests of something else.
CALM = ["--slow_factor", 0]


@pytest.fixture
def ring(cluster):
    made = []

    def make(*words, **options):
        made.append(Ring(cluster, *words, **options))
        return made[-1]
    yield make
    for each in made:
        each.close()


def documents(programs, code, timeout=60):
    """Returns each rank's JSON."""
    for program in programs:
        program.expect(code, timeout)
    return [json.loads(program.output()) for program in programs]


# On links of 25 MB/s each rank sends its parts of the sum for at least 15 s, even on the fastest machine. That leaves
# time to break something in the middle.
LONG_SUM = 1 << 28


def narrow(machines):
    for machine in machines:
        machine.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "200mbit", "burst", "256kb", "latency",
                    "100ms")


def wait_until_they_sum(machines):
    """Waits until each rank has received more than all that precedes the sum: a few passes of 150 ms over such a
    link."""
    def received(machine):
        return int(machine.run("cat", "/sys/class/net/eth0/statistics/rx_bytes"))
    eventually(lambda: all(received(machine) > LONG_SUM // 4 for machine in machines), 60, "the ranks are in their sum")


def links_of(document):
    return {(fault["from"], fault["to"]): fault for fault in document["faults"]}


@pytest.mark.parametrize("secure", [True, False], ids=["tls", "plain"])
def test_sixteen_ranks_on_one_machine_take_less_than_two_seconds(ring, measured, secure):
    made = ring(16, secure=secure)
    found = documents(made.start([*CALM, "--json"]), 0)
    for document in found:
        assert document["good"] and document["tls"] is secure and document["sum_ms"] > 0, document
        assert [(link["from"], link["to"]) for link in document["links"]] == [(k, (k + 1) % 16) for k in range(16)]
        assert all(link["megabytes_per_second"] > 0 and link["latency_ms"] > 0 for link in document["links"])
    assert [document["links"] for document in found] == [found[0]["links"]] * 16, "all have the same figures"
    # Processes that wait for each other depend on the kernel's scheduling.
    load = max(1, os.getloadavg()[0] / os.cpu_count())
    measured("the check of 16 ranks", found[0]["took_ms"] / 1000 / load, at_most=2)


def test_people_get_a_line_and_a_table(ring):
    programs = ring(3).start(CALM)
    for program in programs:
        program.expect(0)
    lines = programs[0].lines()
    assert re.match(r"ms-ring: ring of 3 ranks on 1 machine over mutual TLS: good; 4\.0 MiB summed in ", lines[0])
    assert lines[1].split() == ["FROM", "HOST", "TO", "HOST", "LATENCY", "MEDIAN", "BANDWIDTH", "OF", "MEDIAN"]
    assert len(lines) == 5 and all(len(line) == len(lines[1]) for line in lines[2:]), lines
    assert [program.output() for program in programs[1:]] == ["", ""], "one rank speaks for all"


def test_the_command_starts_behind_a_good_ring_only(ring):
    made = ring(3)
    env = {"MS_TLS_CLIENT_PASSWORD": "not needed", "RANK": "None"}
    command = ["sh", "-c", "echo started; env | grep PASSWORD; exit 7"]
    for program in made.start(CALM, command=command, env=env):
        program.expect(7)
        assert "started" in program.output() and "PASSWORD" not in program.output(), program.output()
    made.issue(1, "renew")
    old = dict(enumerate(made.fingerprints))
    made.fingerprints[1] = "0" * 64
    for program in made.start([*CALM, "--connect_timeout", 5], own_fingerprints={1: old[1]}, command=command, env=env):
        program.expect(1)
        assert "started" not in program.output(), program.output()


def test_a_missing_command_is_reported(ring):
    for program in ring(2).start(CALM, command=["/nowhere/to/be/found"]):
        program.expect(127)
        assert "/nowhere/to/be/found" in program.output()


def test_a_rank_with_another_certificate_is_named(ring):
    made = ring(5)
    for _ in range(RUNS):
        listed = list(made.fingerprints)
        shown = made.issue(2, "renew")["fingerprint"]
        made.fingerprints = listed  # the others still expect the former one
        found = documents(made.start([*CALM, "--json"], own_fingerprints={2: shown}), 1)
        for rank in (0, 1, 3, 4):
            faults = links_of(found[rank])
            assert list(faults) == [(1, 2), (2, 3)], faults
            assert {fault["kind"] for fault in faults.values()} == {"wrong certificate"}
            assert shown[:16] in faults[1, 2]["detail"] and listed[2][:16] in faults[1, 2]["detail"]
            assert "rank 1 on host1 -> rank 2 on host2 (127.0.0.1:%d): wrong certificate" % made.ports[2] in \
                faults[1, 2]["text"]
        assert not found[2]["good"] and "wrong certificate" in made.error(1)
        made.fingerprints[2] = shown


@pytest.mark.parametrize("target", ["DROP", "REJECT"])
def test_a_blocked_port_is_named(ring, network, target):
    machines = network.star(4)
    machines[2].run(IPTABLES, "-w", "-A", "INPUT", "-p", "tcp", "--dport", 40002, "-j", target)
    made = ring(4, machines)
    kind = {"DROP": "timed out", "REJECT": "refused"}[target]
    for _ in range(RUNS):
        for document in documents(made.start([*CALM, "--json", "--connect_timeout", 6]), 1):
            faults = links_of(document)
            assert list(faults) == [(1, 2)] and faults[1, 2]["kind"] == kind, faults
            assert faults[1, 2]["reported_by"] == 1 and faults[1, 2]["to_address"] == machines[2].address
            assert "rank 1 on host1 -> rank 2 on host2 (%s:40002): %s" % (machines[2].address, kind) in \
                faults[1, 2]["text"]
        assert made.error(1) == made.error(3) and kind in made.error(1), "all agents get the same report"


def test_another_machines_loopback_is_named_at_once(ring, network):
    machines = network.pair()
    machines[0].address = "127.0.0.1"
    made = ring(2, machines, secure=False)
    for document in documents(made.start(["--json"]), 1, timeout=10):  # --connect_timeout is 30 s
        faults = links_of(document)
        assert list(faults) == [(1, 0)] and faults[1, 0]["kind"] == "unreachable", faults
        assert "127.0.0.1 reaches only its own machine" in faults[1, 0]["text"], faults
        assert "--worker_ip ADDRESS" in faults[1, 0]["text"], faults
    assert "--worker_ip" in made.error(1)


def test_a_slow_link_is_named(ring, network):
    machines = network.star(4)
    machines[1].run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "24mbit", "burst", "64kb", "latency",
                    "100ms")
    made = ring(4, machines)
    for _ in range(RUNS):
        for document in documents(made.start(["--json"]), 1):
            faults = links_of(document)
            assert list(faults) == [(1, 2)] and faults[1, 2]["kind"] == "slow", (faults, document["links"])
            assert re.search(r"[\d.]+ MB/s, [\d.]+ times less than the median of the links between machines",
                             faults[1, 2]["detail"]), faults
            assert document["links"][1]["of_median"] < 0.2 and document["sum_ms"] is None


def test_a_link_that_falls_silent_is_named(ring, network):
    machines = network.star(4)
    narrow(machines)
    made = ring(4, machines)
    programs = made.start([*CALM, "--json", "--bytes", LONG_SUM, "--step_timeout", 20, "--timeout", 300])
    wait_until_they_sum(machines)
    machines[2].run(IPTABLES, "-w", "-A", "INPUT", "-p", "tcp", "--dport", 40002, "-j", "DROP")
    for document in documents(programs, 1):
        faults = links_of(document)
        assert list(faults) == [(1, 2)] and faults[1, 2]["kind"] == "stalled", document["faults"]


def test_a_killed_rank_is_named(ring, network):
    machines = network.star(4)
    narrow(machines)
    made = ring(4, machines, secure=False)
    programs = made.start([*CALM, "--json", "--bytes", LONG_SUM, "--timeout", 300])
    wait_until_they_sum(machines)
    programs[2].send(9)
    for rank in (0, 1, 3):
        programs[rank].expect(1, 60)
        found = links_of(json.loads(programs[rank].output()))
        assert set(found) <= {(1, 2), (2, 3)} and found, found
        assert {fault["kind"] for fault in found.values()} == {"broken"}, found


@pytest.mark.parametrize("words", [os.urandom(2000), b"", b"\x16\x03\x01\x02\x00\x01"], ids=["garbage", "silence", "half a hello"])
def test_garbage_and_idlers_at_the_ports_do_no_harm(ring, words):
    made = ring(4)
    is_over = threading.Event()

    def disturb():
        idle = []
        while not is_over.is_set():
            for port in made.ports:
                try:
                    stranger = socket.create_connection(("127.0.0.1", port), timeout=1)
                    stranger.sendall(words)
                    idle = idle[-400:] + [stranger]
                except OSError:
                    pass
    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for document in documents(made.start([*CALM, "--json"]), 0):
            assert document["good"], document
    finally:
        is_over.set()
        thread.join()


def test_certificates_that_do_not_fit_are_reported_before_any_connection(ring, cluster):
    made = ring(2)

    def run(*words):
        done = subprocess.run([str(word) for word in (BIN / "ms-ring", *words)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=30, env=cluster.env)
        return done.returncode, done.stdout
    for program in made.start([*CALM, "--connect_timeout", 1]):
        program.wait(30)
    file = made.folder / "cluster-0.json"
    code, said = run("--cluster_file", file)
    assert code == 15 and "--tls_config" in said, said
    code, said = run("--cluster_file", file, "--tls_config", made.tls_config(1))
    assert code == 15 and "not the one that its agent showed when the round began" in said, said
    code, said = run("--cluster_file", file, "--rank", 1)
    assert code == 2 and "rank 1" in said, said
    code, said = run("--cluster_file", made.tls_config(0))
    assert code == 2 and "schema" in said, said
    code, said = run()
    assert code == 2 and "MS_CLUSTER_FILE" in said, said


def test_the_agent_checks_the_ring_before_the_training(cluster):
    cluster.start_scheduler("--worker_num", 4)
    agents = cluster.start_agents(2, ["--worker_num", 4, "--local_worker_num", 2, "--preflight", "ring"],
                                  ["sh", "-c", "echo rank $RANK trains"])
    for agent in agents:
        agent.expect(0, 60)
    said = "\n".join(agent.output() for agent in agents)
    assert said.count("ring of 4 ranks on 1 machine without TLS: good") == 1, said
    assert all("rank %d trains" % rank in said for rank in range(4)), said


def test_a_bad_link_fails_the_job_and_is_its_cause(cluster, network):
    machines = network.star(3)
    scheduler = cluster.start_scheduler("--worker_num", 3, host=machines[0].address, netns=machines[0].name)
    machines[2].run(IPTABLES, "-w", "-A", "INPUT", "-p", "tcp", "--dport", "41000:41010", "-j", "REJECT")
    agents = [cluster.start_agent("agent%d" % rank, ["--worker_num", 3, "--node_id", rank, "--preflight", "ring",
                                                     "--port_range", "41000-41010"],
                                  ["sh", "-c", "echo trains"], netns=machine.name)
              for rank, machine in enumerate(machines)]
    for agent in agents:
        assert agent.wait(90) != 0
        assert "trains" not in agent.output().replace("sh -c echo trains", ""), agent.output()
    scheduler.expect_said(r"rank 1 on \S+ -> rank 2 on \S+ \(%s:410\d\d\): refused" % re.escape(machines[2].address))
    for agent in agents:
        assert re.search(r"rank 1 on \S+ -> rank 2 on .*refused", agent.our_lines()[-1]), agent.output()


def test_a_bad_link_keeps_single_processes_from_training_too(cluster, network):
    machines = network.star(2)
    scheduler = cluster.start_scheduler("--worker_num", 2, "--max_restarts", 2, host=machines[0].address,
                                        netns=machines[0].name)
    machines[1].run(IPTABLES, "-w", "-A", "INPUT", "-p", "tcp", "--dport", "41000:41010", "-j", "REJECT")
    agents = [cluster.start_agent("agent%d" % rank, ["--worker_num", 2, "--node_id", rank, "--preflight", "ring",
                                                     "--port_range", "41000-41010", "--enable_recovery", 1,
                                                     "--restart_scope", "worker", "--max_restarts", 2],
                                  ["sh", "-c", "echo trains"], netns=machine.name,
                                  env={"MS_RING_CONNECT_TIMEOUT": 3})
              for rank, machine in enumerate(machines)]
    for agent in agents:
        agent.expect(EXIT_GAVE_UP, 90)
        assert "trains" not in agent.output().replace("sh -c echo trains", ""), agent.output()
    scheduler.expect_said(r"rank 0 on \S+ -> rank 1 on \S+ \(%s:410\d\d\): refused" % re.escape(machines[1].address))


def test_tls_that_is_required_with_other_machines_only(cluster):
    """The same rule as for the agent: connections on this machine may be plain."""
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--preflight", "ring", "--",
                                    "sh", "-c", "echo rank $RANK trains"], env={"MS_REQUIRE_TLS": 1})
    agent.expect(0, 60)
    assert agent.output().count("trains") >= 2, agent.output()


def test_over_tls_the_agents_announce_and_the_ring_pins(cluster):
    ca = cluster.folder / "ca"

    def certs(*words):
        subprocess.run([str(word) for word in (BIN / "ms-ctl", "certs", *words, "--dir", ca)], check=True, timeout=30,
                       env={**cluster.env, "MS_TLS_CLIENT_PASSWORD": "geheim", "MS_TLS_SERVER_PASSWORD": "geheim"},
                       stdout=subprocess.DEVNULL)
    certs("init")
    certs("scheduler", "--host", "127.0.0.1")
    for node in range(2):
        certs("node", "--id", node)
    cluster.start_scheduler("--worker_num", 4, "--tls_config", ca / "scheduler" / "tls.json",
                            env={"MS_TLS_SERVER_PASSWORD": "geheim"})
    agents = [cluster.start_agent("agent%d" % node, ["--worker_num", 4, "--local_worker_num", 2, "--node_id", node,
                                                     "--preflight", "ring", "--tls_config",
                                                     ca / ("node-%d" % node) / "tls.json"],
                                  ["sh", "-c", "env | grep -c geheim; echo rank $RANK trains"],
                                  env={"MS_TLS_CLIENT_PASSWORD": "geheim"}) for node in range(2)]
    for agent in agents:
        agent.expect(0, 60)
    said = "\n".join(agent.output() for agent in agents)
    assert said.count("ring of 4 ranks on 1 machine over mutual TLS: good") == 1, said
    assert all("rank %d trains" % rank in said for rank in range(4)) and said.count("] 0\n") == 4, said


def test_a_node_without_the_preflight_of_the_others_is_reported(cluster):
    cluster.start_scheduler("--worker_num", 2)
    first = cluster.start_agent("a", ["--node_id", "a", "--preflight", "ring"], ["true"])
    first.expect_said("1 of 2 workers")
    other = cluster.start_agent("b", ["--node_id", "b"], ["true"])
    other.expect(EXIT_REFUSED)
    assert re.search(r"preflight is none on node b \(.*\) but ring as set by node a", other.output()), other.output()
    for agent in (first, cluster.start_agent("c", ["--node_id", "b", "--preflight", "ring"], ["true"])):
        agent.expect(0, 60)


def test_ranks_with_different_slow_factors_are_reported(ring):
    made = ring(2)
    programs = made.start(["--json", "--connect_timeout", 3], env_of={0: {"MS_RING_SLOW_FACTOR": 7}})
    for document in documents(programs, 1):
        assert any("MS_RING_SLOW_FACTOR" in fault["text"] for fault in document["faults"]), document["faults"]


def test_settings_that_contradict_the_preflight_are_reported(cluster):
    for words, command, told in ((["--per_node"], ["true"], "per_node"), ([], [], "no command")):
        agent = cluster.start("agent", [BIN / "ms-worker", "--preflight", "ring", *words, *(["--"] if command else []),
                                        *command])
        agent.expect(2)
        assert told in agent.output(), agent.output()
