"""The bytes on the cable between two machines: with TLS none of the markers is readable, without it all of them are."""

import json
import sys

import pytest

import sniffer
from muster import BIN, EXIT_FAILED_ELSEWHERE, HERE, WITH_TLS, eventually, kill_now

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests switch TLS on themselves")

JOB, OTHER_JOB = "job-marker-alpha", "job-marker-omega"
NODES = ["node-marker-one", "node-marker-two"]
LAST_WORDS = "last-words-marker"
HOST_NAME = "host-name-marker"  # the name of both machines
DIRECT_PORT = 8119
PORT_RANGES = ["41000-41099", "42000-42099"]

# What is readable without TLS, and which program sends it.
MARKERS = {
    "the job": JOB.encode(),
    "the other job": OTHER_JOB.encode(),
    "a node id": NODES[1].encode(),
    "a host name": HOST_NAME.encode(),
    "a key of the store": b"mindspore/MCCL_COLLECTIVE_RANK_MS_WORKER_1",
    "a value of the store": b"10.0.0.1:10001",
    "a key at --mindspore_port": b"MCCL_COLLECTIVE_RANK_MS_WORKER_0",
    "MindSpore's frames": b"RPC0",
    "MindSpore's roles": b"MS_WORKER",
    "MindSpore's host names": b'{"hostnames":[',
    "HTTP/2": b"PRI * HTTP/2.0",
    "a process's last words": LAST_WORDS.encode(),
}


class Wire:
    """Two machines with the same host name, and a record of all that crosses between them."""

    def __init__(self, cluster, network):
        self.cluster = cluster
        self.machines = network.pair()
        self.file = cluster.folder / "frames"
        self.recorder = cluster.start("recorder", [sys.executable, HERE / "sniffer.py", "eth0", self.file],
                                      netns=self.machines[0].name)
        self.recorder.expect_said("^recording")

    def agent(self, number, job, words, command, env=None):
        renamed = ["unshare", "--uts", "sh", "-c", 'echo %s > /proc/sys/kernel/hostname; exec "$@"' % HOST_NAME, "sh"]
        return self.cluster.start(
            "%s-%d" % (job, number),
            [*renamed, BIN / "ms-worker", *self.cluster.agent_words(), "--job_id", job, "--node_id", NODES[number],
             "--port_range", PORT_RANGES[number], *words, "--", *command], netns=self.machines[number].name, env=env)

    def run(self):
        """Runs everything that crosses machines through Muster."""
        cluster, (first, second) = self.cluster, self.machines
        self.scheduler = cluster.start_scheduler("--worker_num", 2, "--mindspore_port", DIRECT_PORT,
                                                 "--heartbeat_interval", 0.1,
                                                 host=first.address, netns=first.name)
        # Runs the ring's check, then a job with processes that speak MindSpore's protocol with their gateways.
        script = ("import os, sys; print('I am', os.environ['MS_NODE_ID']); sys.stdout.flush(); "
                  "os.execv(sys.executable, [sys.executable, %r, '2.10', os.environ['MS_NODE_ID'], '1'])"
                  % str(HERE / "mindspore_client.py"))
        agents = [self.agent(i, JOB, ["--worker_num", 2, "--preflight", "ring"], [sys.executable, "-c", script])
                  for i in range(2)]
        for agent in agents:
            agent.expect(0, timeout=90)
        # Runs MindSpore's processes without an agent.
        env = {"MS_SCHED_HOST": first.address, "MS_SCHED_PORT": DIRECT_PORT, "MS_WORKER_NUM": 2}
        if "MS_TLS_CONFIG" in cluster.env:
            env["CLIENT_TLS_FOLDER"] = cluster.tls.path
        direct = cluster.start("direct", [sys.executable, HERE / "mindspore_client.py", "2.10", 0, 2], env=env,
                               netns=second.name)
        direct.expect(0, timeout=60)
        self.scheduler.expect_said("all MindSpore processes have ended well")
        self.fail_a_job()
        self.lose_an_agent()
        assert "succeeded" in cluster.ctl("status", "--job", JOB, netns=second.name)
        self.recorder.send(15)
        self.recorder.expect(0)
        assert "dropped 0" in self.recorder.output(), self.recorder.output()
        return self

    def fail_a_job(self):
        """The cause crosses twice, together with the last lines."""
        ending = ["sh", "-c", "echo %s; sleep 2; exit 3" % LAST_WORDS]  # heartbeats go back and forth in the meantime
        agents = [self.agent(i, OTHER_JOB, ["--worker_num", 2], command)
                  for i, command in enumerate((["sleep", "1000"], ending))]
        agents[1].expect(3, timeout=60)
        agents[0].expect(EXIT_FAILED_ELSEWHERE, timeout=60)
        assert LAST_WORDS in agents[0].output()

    def lose_an_agent(self):
        """Makes a keeper send its last report."""
        agent = self.agent(1, "third", ["--worker_num", 2, "--local_worker_num", 2], ["sleep", "1000"])
        self.cluster.wait_until_running(2, job="third", netns=self.machines[0].name)
        kill_now(agent.pid)
        eventually(lambda: self.cluster.phase("third", netns=self.machines[0].name) == "failed", 30,
                   "the keeper's last report arrives")

    def streams(self):
        return [stream for stream in sniffer.streams(self.file) if stream.parts]

    def found(self):
        """The markers that crossed, in streams (which may cut them) or anywhere in a frame."""
        texts = [stream.data() for stream in self.streams()] + list(sniffer.frames(self.file))
        found = {what for what, marker in MARKERS.items() if any(marker in text for text in texts)}
        ring = [stream for stream in self.streams() if 41000 <= stream.target[1] < 43000]
        return found | {"the ring's greeting" for stream in ring if JOB.encode() in stream.data()}

    def expect_heartbeats(self):
        """All datagrams are heartbeats and their answers, and there are some."""
        assert len(sniffer.datagrams(self.file)) > 20
        for (source, target), payload in sniffer.datagrams(self.file):
            is_heartbeat = target == (self.machines[0].address, self.scheduler.port)
            assert is_heartbeat or source == (self.machines[0].address, self.scheduler.port), (source, target)
            assert payload[:4] == (b"MH\1\1" if is_heartbeat else b"MH\1\2"), payload
            assert 40 <= len(payload) <= 40 + 1024 if is_heartbeat else len(payload) == 52, payload

    def told_fences(self):
        """The bytes where heartbeats report the fence, which no node here has armed."""
        return {payload[20:24] for _, payload in sniffer.datagrams(self.file) if payload[:4] == b"MH\1\1"}

    def expect_all_kinds(self):
        """The cable was not idle: the scheduler, --mindspore_port and both ends of the ring had connections."""
        def spoken_with(address, ports):
            return any(stream.target[0] == address and stream.target[1] in ports for stream in self.streams())
        first, second = (machine.address for machine in self.machines)
        assert spoken_with(first, [self.scheduler.port]) and spoken_with(first, [DIRECT_PORT])
        assert spoken_with(first, range(41000, 41100)) or spoken_with(second, range(42000, 42100))
        assert sum(len(stream.data()) for stream in self.streams()) > 100_000


def test_with_tls_nothing_can_be_read(cluster, network):
    cluster.use_tls()
    wire = Wire(cluster, network).run()
    wire.expect_all_kinds()
    for stream in wire.streams():
        offending = sniffer.what_is_not_tls(stream.data())
        assert offending is None, "%s is not all TLS: %r" % (stream, offending)
    wire.expect_heartbeats()
    assert len(wire.told_fences()) > 5, "as many as there are heartbeats, nearly"
    assert wire.found() == set()
    print(json.dumps({"streams": len(wire.streams()), "bytes": sum(len(s.data()) for s in wire.streams())}))


def test_without_tls_the_same_search_finds_everything(cluster, network):
    """Otherwise the other test would prove nothing."""
    wire = Wire(cluster, network).run()
    wire.expect_all_kinds()
    assert any(sniffer.what_is_not_tls(stream.data()) is not None for stream in wire.streams())
    wire.expect_heartbeats()
    assert wire.told_fences() == {bytes(4)}
    assert wire.found() == set(MARKERS) | {"the ring's greeting"}
