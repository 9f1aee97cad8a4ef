"""Heartbeats go by datagram where datagrams get through, and over the connection elsewhere; no node is lost for it."""

import os
import socket
import sys
import time

import sniffer
from muster import HERE, eventually

IPTABLES = "iptables-legacy" if os.path.exists("/usr/sbin/iptables-legacy") else "iptables"
INTERVAL, LEASE = 0.2, 4
WORDS = ["--heartbeat_interval", INTERVAL, "--node_timeout", LEASE, "--disconnect_grace", 1]


class Apart:
    """The scheduler on one machine, one agent with a waiting process on another, and a record of the packets between
    them."""

    def __init__(self, cluster, network, *words):
        self.cluster = cluster
        self.near, self.far = network.pair()
        self.scheduler = cluster.start_scheduler("--worker_num", 1, *WORDS, *words, host=self.near.address,
                                                 netns=self.near.name)
        self.agent = cluster.start_agent("agent", ["--worker_num", 1], ["sleep", "1000"], netns=self.far.name)
        cluster.wait_until_running(1, netns=self.near.name)
        time.sleep(3 * INTERVAL)  # until the agent knows what gets through

    def record(self, seconds):
        """Returns (payloads that went to the scheduler by UDP, and by TCP)."""
        file = self.cluster.folder / "frames"
        recorder = self.cluster.start("recorder", [sys.executable, HERE / "sniffer.py", "eth0", file],
                                      netns=self.near.name)
        recorder.expect_said("^recording")
        time.sleep(seconds)
        recorder.send(15)
        recorder.expect(0)
        target = (self.near.address, self.scheduler.port)
        udp = [payload for key, payload in sniffer.datagrams(file) if key[1] == target]
        tcp = [part for protocol, part, key in sniffer.packets(file)
               if protocol == socket.IPPROTO_TCP and key[1] == target and len(part) > (part[12] >> 4) * 4]
        return udp, tcp

    def filter(self, action):
        """`action`: -A drops UDP, -D allows it again."""
        self.near.run(IPTABLES, "-w", action, "INPUT", "-p", "udp", "--dport", self.scheduler.port, "-j", "DROP")

    def expect_still_running(self):
        status = self.cluster.ctl_json("status", netns=self.near.name)["runs"][0]
        assert (status["phase"], status["round"], status["restart_count"]) == ("running", 1, 0), status
        assert self.agent.is_running()


def test_they_go_by_datagram(cluster, network):
    job = Apart(cluster, network)
    udp, tcp = job.record(4)
    assert len(udp) >= 10, len(udp)  # it would be 20 without a stall
    assert {len(payload) for payload in udp} == {40}
    # TCP may have some: one heartbeat a minute, those after one that was answered late, and HTTP/2's own frames.
    assert len(udp) > 2 * len(tcp), (len(udp), [len(part) for part in tcp])


def test_without_datagrams_they_go_over_the_connection(cluster, network):
    job = Apart(cluster, network, "--heartbeat_datagrams=false")
    udp, tcp = job.record(4)
    assert udp == [] and len(tcp) >= 10, (len(udp), len(tcp))


def test_a_filter_that_comes_later_costs_no_node(cluster, network):
    job = Apart(cluster, network)
    job.filter("-A")
    job.agent.expect_said("heartbeats go over the connection, .* UDP to the same port of .* gets no answer", timeout=5)
    time.sleep(2 * LEASE)
    job.expect_still_running()
    udp, tcp = job.record(2)
    assert len(udp) <= 1 and len(tcp) >= 5, "tried once a minute only: %d, %d" % (len(udp), len(tcp))
    job.filter("-D")
    job.expect_still_running()


def test_a_scheduler_that_comes_back_takes_them_again(cluster, network):
    job = Apart(cluster, network, "--journal_path", cluster.folder / "journal")
    port = job.scheduler.port
    job.scheduler.send(9)
    job.scheduler.wait(10)
    job.scheduler = cluster.start_scheduler("--worker_num", 1, *WORDS, "--journal_path", cluster.folder / "journal",
                                            name="again", host=job.near.address, port=port, netns=job.near.name)
    job.agent.expect_said("reconnected to the scheduler", timeout=20)
    time.sleep(3 * INTERVAL)
    udp, tcp = job.record(2)
    assert len(udp) >= 5 and len(udp) > 2 * len(tcp), (len(udp), len(tcp))
    job.expect_still_running()


def test_a_flood_of_unknown_datagrams_harms_no_agent(cluster, measured):
    scheduler = cluster.start_scheduler("--worker_num", 2, *WORDS)
    agents = cluster.start_agents(2, ["--worker_num", 2], ["sleep", "1000"])
    cluster.wait_until_running(2)
    flood = cluster.start("flood", [sys.executable, "-c", (
        "import os, socket\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.connect(('127.0.0.1', %d))\n"
        "form = b'MH\\1\\1' + (1).to_bytes(8, 'big')\n"
        "while True:\n"
        "    s.send(form + os.urandom(28))\n"
        "    s.send(os.urandom(40))\n" % scheduler.port)])
    time.sleep(2 * LEASE)
    begin = time.monotonic()
    status = cluster.ctl_json("status")["runs"][0]
    measured("ms-ctl status in a flood", time.monotonic() - begin, at_most=2)
    assert (status["phase"], status["restart_count"]) == ("running", 0), status
    assert cluster.ctl_json("counters")["counters"]["strange datagram"] > 0
    flood.send(9)
    assert all(agent.is_running() for agent in agents)


def test_a_port_that_is_taken_is_warned_of(cluster):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, \
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        tcp.close()
        scheduler = cluster.start_scheduler("--worker_num", 1, *WORDS, port=port)
        scheduler.expect_said("WARN.*no heartbeats over UDP, only over the agents' streams, .*127.0.0.1:%d.*in use" % port)
        agent = cluster.start_agent("agent", ["--worker_num", 1], ["true"])
        agent.expect(0)


def test_all_is_said_while_a_job_waits(cluster):
    """The list of missing nodes is too long for a datagram."""
    cluster.start_scheduler("--worker_num", 2, *WORDS)
    agent = cluster.start_agent("agent", ["--worker_num", 2], ["true"])
    agent.expect_said("1 of 2 workers are here", timeout=20)
    eventually(lambda: cluster.ctl_json("status")["runs"][0]["phase"] == "forming", 5, "it forms")
    late = cluster.start_agent("late", ["--worker_num", 2], ["true"])
    agent.expect(0)
    late.expect(0)
