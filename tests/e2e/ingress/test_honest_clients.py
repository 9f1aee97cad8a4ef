"""Clients of other makes, and busy ones: the guard in front of gRPC cuts none of them, plain and over TLS."""

import os
import shutil
import subprocess
import time

import pytest

import muster
import pki
from muster import BIN, SCRIPTS, WITH_TLS

grpc = pytest.importorskip("grpc")
import grpcurl  # noqa: E402
import wire  # noqa: E402

CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
COUNTERS = "/muster.v1.Admin/GetCounters"
IS_LONG = os.environ.get("MUSTER_LONG", "0") == "1"

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


class Door:
    """A scheduler, plain or with TLS, and the words and certificates that a client needs."""

    def __init__(self, cluster, is_tls):
        self.cluster, self.is_tls, self.words = cluster, is_tls, []
        if is_tls:
            self.authority = pki.Authority()
            self.admin = self.authority.admin()
            self.folder = pki.Folder(cluster.folder / "tls", self.authority, self.authority.scheduler(), self.admin)
            self.host = pki.Folder(cluster.folder / "host", self.authority, None, self.authority.host())
            self.words = ["--tls_config", self.folder.config]
        self.scheduler = cluster.start_scheduler("--journal_path", "memory", *self.words)
        self.port = self.scheduler.port

    def channel(self):
        return wire.tls_channel(self.port, self.authority, self.admin) if self.is_tls else wire.channel(self.port)

    def nobody_was_cut(self):
        counters = self.cluster.ctl_json(*self.words, "counters")["counters"]
        cut = {name: count for name, count in counters.items() if count and name.startswith("HTTP/2")}
        assert not cut, cut


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def door(request, cluster):
    made = Door(cluster, request.param)
    yield made
    made.nobody_was_cut()


def test_python_unary_streaming_and_health(door):
    pb = wire.messages()
    with door.channel() as channel:
        assert channel.unary_unary(CHECK)(b"", timeout=20) == SERVING
        assert next(channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=20)) == SERVING
        for _ in range(100):
            channel.unary_unary(COUNTERS)(b"", timeout=20)

        def say():
            yield wire.join(pb, "mine", "n", 1, 1)
            for number in range(1, 501):
                report = pb.AgentMessage()
                report.report.heartbeat_seq = number
                yield report
        if not door.is_tls:  # a node can't use an admin's certificate
            replies = wire.open_session(channel, pb, say(), timeout=60)
            highest = 0
            for reply in replies:
                highest = max(highest, reply.acknowledgement.heartbeat_seq)
                if highest == 500:
                    break
            replies.cancel()


def test_reflection_as_grpcurl_uses_it(door):
    with door.channel() as channel:
        for _ in range(20):
            assert {"muster.v1.Admin", "muster.v1.Rendezvous", "grpc.health.v1.Health"} <= set(grpcurl.services(channel))
        status = grpcurl.call(channel, "muster.v1.Admin", "GetStatus")
        assert status.version and len(status.runs) == 0


def test_curl(door):
    if shutil.which("curl") is None or "HTTP2" not in subprocess.run(["curl", "-V"], stdout=subprocess.PIPE, text=True).stdout:
        pytest.skip("no curl that speaks HTTP/2")
    words, scheme = ["--http2-prior-knowledge"], "http"
    if door.is_tls:
        folder, scheme = door.folder.path, "https"
        words = ["--http2", "--cacert", folder / "ca.pem", "--cert", folder / "client.pem", "--key", folder / "client.pem"]
    url = "%s://127.0.0.1:%d%s" % (scheme, door.port, CHECK)
    asked = door.cluster.folder / "asked"
    asked.write_bytes(bytes(5))  # an empty message
    at_once = 20 if door.is_tls else 1  # curl 7.88 can't use a connection of prior knowledge twice, with any server: error 16
    for _ in range(5):
        done = subprocess.run([str(word) for word in [
            "curl", "-sS", "--noproxy", "*", *words, "-H", "content-type: application/grpc", "-H", "te: trailers",
            "--data-binary", "@%s" % asked, *[url] * at_once]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert done.stdout == at_once * (b"\0\0\0\0\x02" + SERVING), (done.returncode, done.stdout, done.stderr)


def test_a_large_peer_list(door):
    agents, slots = 1000, 64
    assert (BIN / "muster_load").exists(), "muster_load is not built"
    words = ["--tls_config", door.host.config] if door.is_tls else []
    load = door.cluster.start("load", [BIN / "muster_load", "--measure=heartbeat", "--target=127.0.0.1:%d" % door.port,
                                       "--agents=%d" % agents, "--slots=%d" % slots, "--window=20", *words])
    load.expect_said("^ready$", timeout=120)
    path = "/muster.v1.Rendezvous/GetPeers"
    asked = b"\x0a\x04load\x10\x01\x18\x01"  # GetPeersRequest: job "load", run 1, round 1
    channel = (wire.tls_channel(door.port, door.authority, door.authority.host()) if door.is_tls else
               wire.channel(door.port))
    with channel:
        lists = {channel.unary_unary(path)(asked, timeout=20) for _ in range(50)}
    assert len(lists) == 1 and len(lists.pop()) > 100 * agents


def test_bursts_of_calls_on_one_connection(door, record_property):
    """Ten bursts of 800 calls that are all in progress together, a second apart. The limit is 1,000, and on a busy
    machine bursts arrive closer together than they were sent."""
    calls = 800
    with door.channel() as channel:
        call = channel.unary_unary(COUNTERS)
        for _ in range(10):
            begin = time.monotonic()
            for one in [call.future(b"", timeout=30) for _ in range(calls)]:
                one.result()
            took = time.monotonic() - begin
            record_property("calls a second", "%d" % (calls / took))
            time.sleep(max(0, 1 - took))


@pytest.mark.parametrize("seconds", [5, 3600] if IS_LONG else [5])
def test_watch(door, seconds):
    watch = door.cluster.start("watch", ["ms-ctl", "watch", *door.cluster.agent_words(), *door.words, "--admin_socket",
                                         "/nonexistent"])
    watch.expect_said("no job yet")
    time.sleep(seconds)
    assert watch.is_running(), watch.output()
    muster.no_warnings(watch)


@pytest.mark.skipif(not IS_LONG, reason="Go takes 570 MB of disk (golang-go, golang-google-grpc-dev)")
def test_go(door):
    if shutil.which("go") is None or not os.path.isdir("/usr/share/gocode/src/google.golang.org/grpc"):
        pytest.skip("no Go with gRPC (apt-get install golang-go golang-google-grpc-dev)")
    program = door.cluster.folder / "honest"
    env = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(door.cluster.folder / "go-cache")}
    built = subprocess.run(["go", "build", "-o", program, SCRIPTS / "honest.go"], env={**door.cluster.env, **env}, timeout=600,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert built.returncode == 0, built.stdout
    folder = [door.folder.path] if door.is_tls else []
    client = door.cluster.start("go", [program, "127.0.0.1:%d" % door.port, *folder])
    client.expect(0, timeout=60)
