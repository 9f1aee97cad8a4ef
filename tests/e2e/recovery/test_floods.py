"""A broken or hostile peer while a job runs: the job goes on, and the log stays readable."""

import concurrent.futures
import os
import resource
import socket
import sys
import time

import pytest

from muster import HERE, eventually, no_warnings

grpc = pytest.importorskip("grpc")
import wire  # noqa: E402


class RunningJob:
    """Two agents with processes that run until the file "go" exists, under a scheduler with few descriptors."""

    def __init__(self, cluster, descriptors):
        self.cluster = cluster

        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
        self.scheduler = cluster.start_scheduler("--heartbeat_interval", "0.5", "--node_timeout", "3", limits=limit)
        self.agents = cluster.start_agents(2, ["--job_id", "victim", "--worker_num", 2],
                                           ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"])
        cluster.wait_until_running(2, "victim")
        self.lines_before = len(self.scheduler.our_lines())

    def new_lines(self):
        return self.scheduler.our_lines()[self.lines_before:]

    def check_goes_on(self, lines_at_most, lines_at_least=1):
        """Heartbeats are answered, a new job starts, the old one ends well, and the log was not flooded."""
        nodes = self.cluster.ctl_json("nodes", "--job", "victim")["jobs"][0]["nodes"]
        assert all(node["state"] == "connected" and node["last_seen_ms"] < 3000 for node in nodes), nodes
        assert self.cluster.phase("victim") == "running"
        said = [line for line in self.new_lines() if "WARNING" in line or "ERROR" in line]
        assert lines_at_least <= len(said) <= lines_at_most, \
            "expected %d to %d lines:\n%s" % (lines_at_least, lines_at_most, "\n".join(said))
        late = self.cluster.start_agent("late", ["--job_id", "late", "--worker_num", 1], ["true"])
        late.expect(0, timeout=20)
        (self.cluster.folder / "go").touch()
        for agent in self.agents:
            agent.expect(0, timeout=20)
            no_warnings(agent)
        assert self.cluster.phase("victim") == "succeeded"
        return said


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.setblocking(False)
    return connection


def test_400_idle_connects_at_a_descriptor_limit_of_200(cluster):
    job = RunningJob(cluster, descriptors=200)
    idle = []
    try:
        for _ in range(400):
            idle.append(connect(job.scheduler.port))
        time.sleep(8)  # longer than a lease and the handshake limit
    finally:
        for connection in idle:
            connection.close()
    eventually(lambda: cluster_answers(cluster), 20, "the scheduler answers again")
    job.check_goes_on(lines_at_most=4)


# New clients waited for minutes after 3,000 addresses, which one machine can have for free.
@pytest.mark.parametrize("prefix", ["2001:db8:bad:1::", "::ffff:10.66.6."], ids=["a /64", "a /24"])
def test_half_hellos_from_all_addresses_of_one_client_shut_out_no_agent(cluster, network, prefix):
    machine = network.machine()
    for route in ("2001:db8:bad:1::/64", "10.66.6.0/24"):
        machine.ip("route", "add", "local", route, "dev", "lo")
    machine.ip("addr", "add", "2001:db8:7::1/128", "dev", "lo", "nodad")
    machine.ip("addr", "add", "10.7.0.1/32", "dev", "lo")
    scheduler = cluster.start_scheduler("--listen_address", "::", host="2001:db8:7::1", netns=machine.name)
    host = "2001:db8:7::1" if "bad" in prefix else "::ffff:10.7.0.1"
    flood = cluster.start("flood", [sys.executable, HERE / "half_hellos.py", host, str(scheduler.port), prefix, "3000"],
                          netns=machine.name)
    flood.expect_said("flooding", timeout=60)
    agent = cluster.start_agent("late", ["--sched_host", "2001:db8:7::1", "--sched_port", scheduler.port,
                                         "--worker_num", 1], ["true"], netns=machine.name)
    agent.expect(0, timeout=20)
    assert flood.is_running()


def cluster_answers(cluster):
    try:
        return cluster.phase("victim")
    except AssertionError:
        return None


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03",
                                     b"RPC0" + b"\xff" * 64, bytes(range(256)) * 16],
                         ids=["http", "tls", "mindspore", "bytes"])
def test_garbage(cluster, garbage):
    job = RunningJob(cluster, descriptors=1024)
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", job.scheduler.port), timeout=10) as connection:
            connection.sendall(garbage)
            connection.settimeout(10)
            try:
                while connection.recv(4096):
                    pass
            except ConnectionError:
                pass
    time.sleep(1)
    job.check_goes_on(lines_at_most=3)


def test_a_client_that_opens_a_stream_and_says_nothing(cluster):
    job = RunningJob(cluster, descriptors=1024)
    pb = wire.messages()
    silence = [wire.channel(job.scheduler.port) for _ in range(20)]

    def nothing():
        time.sleep(60)
        yield from ()
    calls = [wire.open_session(channel, pb, nothing(), timeout=60) for channel in silence]
    eventually(lambda: all(call.done() for call in calls), 45, "the scheduler ends the silent streams")
    for channel in silence:
        channel.close()
    job.check_goes_on(lines_at_most=3)


def literal(index, value, name=b""):
    """A header field for HPACK (RFC 7541, 6.2.2), neither compressed nor kept: with a name of the static table, or its
    own."""
    start = bytes([index]) if index < 15 else bytes([15, index - 15])
    return start + (bytes([len(name)]) + name if name else b"") + bytes([len(value)]) + value


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


# gRPC enforces its number of streams only after the peer has acknowledged the server's SETTINGS. A peer that never does
# so is slowed, then cut.
def test_one_connection_with_thousands_of_streams(cluster):
    job = RunningJob(cluster, descriptors=1024)
    fields = (b"\x83\x86" + literal(4, b"/muster.v1.Rendezvous/Session") + literal(1, b"x") +
              literal(31, b"application/grpc") + literal(0, b"trailers", name=b"te"))
    with connect(job.scheduler.port) as connection:
        connection.settimeout(20)
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0))
        for number in range(10_000):  # END_HEADERS; the peer reads no answer, and acknowledges nothing
            connection.sendall(frame(1, 4, 2 * number + 1, fields))
        counters = eventually(lambda: (lambda now: now.get("HTTP/2 SETTINGS unacknowledged") and now)(
            cluster.ctl_json("counters")["counters"]), 20, "the connection is cut")
        assert counters["HTTP/2 streams before SETTINGS"] > 0, "it was slowed"
        assert "crowded out" not in counters, "as many streams have never come through"
        with open("/proc/%d/status" % job.scheduler.pid) as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        assert peak < 100_000, "%d kB" % peak
        job.check_goes_on(lines_at_most=4)


def test_a_message_of_100_mb(cluster):
    job = RunningJob(cluster, descriptors=1024)
    with wire.channel(job.scheduler.port) as channel:
        replies = wire.open_raw_session(channel, iter([os.urandom(1024) * 100 * 1024]), timeout=60)
        with pytest.raises(grpc.RpcError) as caught:
            list(replies)
    assert caught.value.code() in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INVALID_ARGUMENT,
                                   grpc.StatusCode.UNAVAILABLE), caught.value
    with open("/proc/%d/status" % job.scheduler.pid) as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    assert peak < 1_000_000, "%d kB" % peak
    job.check_goes_on(lines_at_most=2, lines_at_least=0)  # gRPC refuses it unread, and reports nothing


@pytest.mark.parametrize("target", ["victim", "own-jobs"])
def test_10000_joins_of_made_up_nodes(cluster, target):
    job = RunningJob(cluster, descriptors=4096)
    pb = wire.messages()
    count, channels = 10_000, [wire.channel(job.scheduler.port) for _ in range(8)]

    def one(number):
        job_id = "victim" if target == "victim" else "made-up-%d" % number
        message = wire.join(pb, job_id, "", number + 1, 2)
        replies = wire.open_session(channels[number % len(channels)], pb, iter([message]), timeout=60)
        try:
            return next(replies).WhichOneof("kind")
        except (grpc.RpcError, StopIteration) as error:
            return type(error).__name__
        finally:
            replies.cancel()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(count)))
    for channel in channels:
        channel.close()
    if target == "victim":
        assert set(answers) == {"refusal"}, {answer: answers.count(answer) for answer in set(answers)}
    else:
        assert len(cluster.ctl_json("status")["runs"]) <= 1000
        assert len(job.new_lines()) <= 20, "%d lines" % len(job.new_lines())
    job.check_goes_on(lines_at_most=8)
