"""The scheduler's HTTP port: what it shows, to which clients, and how it answers hostile ones."""

import http.client
import os
import re
import socket
import subprocess
import sys
import time

import pytest

import http_client
import muster
from http_client import ask, metrics, port_of, say, status_of
from muster import WITH_TLS, eventually

SLEEP = ["sleep", "1000"]
ANYWHERE = ["--http_address", "127.0.0.1:0"]

plain_only = pytest.mark.skipif(WITH_TLS, reason="asks in plain text")


@plain_only
def test_health_readiness_and_metrics_of_a_job(cluster):
    scheduler = cluster.start_scheduler(*ANYWHERE, "--heartbeat_interval", "0.1")
    port = port_of(scheduler)
    assert ask(port, "/healthz")[::2] == (200, "ok\n") and ask(port, "/readyz")[::2] == (200, "ok\n")
    cluster.start_agent("a", ["--worker_num", 2, "--local_worker_num", 2], SLEEP)
    cluster.wait_until_running(2)
    time.sleep(0.3)  # one answer serves all clients for a quarter of a second
    values = metrics(port)
    assert values['muster_job_phase{job_id="default",phase="running"}'] == 1
    assert values['muster_job_nodes{job_id="default",state="connected"}'] == 1
    assert values['muster_job_ranks{job_id="default",state="running"}'] == 2
    assert values["muster_form_seconds_count"] == 1
    assert values["muster_open_streams"] == 1
    assert values["muster_core_answers"] == 1
    assert values["process_resident_memory_bytes"] > 1e6 and values["process_cpu_seconds_total"] > 0
    eventually(lambda: metrics(port)["muster_heartbeat_lateness_seconds_count"] > 3, 10, "heartbeats are counted")
    status, headers, text = ask(port, "/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"})
    assert status == 200 and text.endswith("\n# EOF\n")
    assert headers["Content-Type"].startswith("application/openmetrics-text")
    checked = subprocess.run(["promtool", "check", "metrics"], input=ask(port, "/metrics")[2], text=True,
                             capture_output=True)
    assert checked.returncode == 0 and not checked.stderr, checked.stdout + checked.stderr
    assert ask(port, "/nothing")[0] == 404 and ask(port, "/", method="HEAD")[::2] == (200, "")
    scheduler.send(15)
    scheduler.expect(0)


def test_every_metric_is_documented_and_none_else(cluster):
    manual = (muster.ROOT / "docs/monitoring.md").read_text()
    listed = set(re.findall(r"^    (muster_\w+)(?:\{[^}]*\})?  ", manual, re.M)) | set(re.findall(r"`(process_\w+(?<!process_halted))`", manual))
    page = (muster.ROOT / "scheduler/http/metrics_page.cc").read_text()
    written = set(re.findall(r'"((?:muster|process)_\w+)"', page))
    counters = set(re.findall(r'Counter\("(\w+)"', page)) | set(re.findall(r'Begin\("(\w+)", Type::kCounter', page))
    counters |= set(re.findall(r'ByCause\(out, "(\w+)"', page))
    names = {name + "_total" if name in counters else name for name in written}
    assert listed == names, listed ^ names


@plain_only
def test_where_it_listens(cluster):
    default = cluster.start_scheduler()
    assert "health and metrics" not in default.output(), "the kernel chose the port: there is none behind it"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        named = cluster.start("named", ["ms-scheduler", "--sched_port", 0, "--http_address", "127.0.0.1:%d" % port])
        named.expect(2)
        assert "can't listen" in named.output() and str(port) in named.output()
        if port > 1026:
            warned = cluster.start_scheduler(name="warned", port=port - 2)
            warned.expect_said(r"WARNING.*health checks and metrics are not served.*--http_address")
            warned.send(15)
            warned.expect(0)
    beyond = cluster.start("beyond", ["ms-scheduler", "--sched_port", 0, "--http_address", "0.0.0.0:0"])
    beyond.expect(2)
    assert "--tls_config" in beyond.output() and "--http_token_file" in beyond.output()
    off = cluster.start_scheduler("--http_address", "off", name="off")
    assert "health and metrics" not in off.output()


@plain_only
def test_the_token_opens_what_is_not_for_everybody(cluster, tmp_path):
    token = "t" * 40
    file = tmp_path / "token"
    file.write_text(token + "\n")
    file.chmod(0o644)
    refused = cluster.start("refused", ["ms-scheduler", "--sched_port", 0, *ANYWHERE, "--http_token_file", file])
    refused.expect(2)
    assert "chmod 600" in refused.output()
    file.chmod(0o600)
    port = port_of(cluster.start_scheduler("--http_address", "0.0.0.0:0", "--http_token_file", file))
    assert ask(port, "/healthz")[0] == 200
    status, headers, _ = ask(port, "/metrics")
    assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer")
    assert ask(port, "/metrics", {"Authorization": "Bearer " + "u" * 40})[0] == 401
    assert ask(port, "/metrics", {"Authorization": "Bearer " + token})[0] == 200
    assert ask(port, "/metrics", {"Cookie": "token=" + token})[0] == 401
    assert ask(port, "/metrics?token=" + token)[0] == 401
    counts = metrics(port, headers={"Authorization": "Bearer " + token})
    assert counts['muster_refusals_total{reason="http: wrong token"}'] == 1


@pytest.mark.skipif(WITH_TLS, reason="makes certificates of its own")
def test_with_tls_a_certificate_opens_it(secured, cluster):
    scheduler = secured.start_scheduler("--http_address", "127.0.0.1:0")
    port = port_of(scheduler)
    assert "https://" in scheduler.output()
    admin = secured.folders["scheduler"]
    strangers = http_client.tls_context(admin, with_client=False)
    assert ask(port, "/healthz", context=strangers)[0] == 200
    assert ask(port, "/metrics", context=strangers)[0] == 401
    assert ask(port, "/metrics")[0] == 403, "in plain text"
    assert ask(port, "/healthz")[0] == 200, "for probes that have no certificate"
    values = metrics(port, context=http_client.tls_context(admin))
    assert values["muster_certificate_end_timestamp_seconds"] > time.time()
    other = secured.folder("other", client=secured.authority.node("n1", job="other"))
    secured.start_node("a", SLEEP, "--worker_num", 1)
    secured.wait_until_running(1)
    time.sleep(0.3)
    of_other = metrics(port, context=http_client.tls_context(other))
    assert not [name for name in of_other if "default" in name], "a certificate of one job shows that one"
    assert not [name for name in of_other if "refusals" in name], "what is counted over all jobs is an admin's"
    assert ask(port, "/api/v1/counters", context=http_client.tls_context(other))[0] == 403
    assert [name for name in metrics(port, context=http_client.tls_context(admin)) if "default" in name]


HOST = b"Host: localhost\r\n"


@plain_only
def test_tricks_get_an_error_and_nothing_else(cluster):
    port = port_of(cluster.start_scheduler(*ANYWHERE, "--http_names", "node2.example,node3.example"))
    tricks = {
        "a host of another site": (b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        "a host that only begins well": (b"GET /metrics HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 421),
        "a health check by any name": (b"GET /healthz HTTP/1.1\r\nHost: node1.example\r\n\r\n", 200),
        "a name that is set": (b"GET / HTTP/1.1\r\nHost: node2.example\r\n\r\n", 200),
        "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
        "two hosts": (b"GET / HTTP/1.1\r\n" + HOST + b"Host: evil.example\r\n\r\n", 400),
        "an absolute target": (b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        "a way up": (b"GET /../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        "an escaped way up": (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        "a zero byte": (b"GET /metrics%00.html HTTP/1.1\r\n" + HOST + b"\r\n", 400),
        "a change": (b"POST /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", 405),
        "a body": (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello", 413),
        "chunks": (b"GET /metrics HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n", 413),
        "both lengths": (b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        "a header within a header": (b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n b\r\n\r\n", 400),
        "no HTTP": (b"\x00\x01\x02\x03\r\n\r\n", 400),
        "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        "a long target": (b"GET /" + b"a" * 10000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    }
    wrong = {}
    for name, (data, expected) in tricks.items():
        data = data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)
        status = status_of(say(port, data))
        if status != expected and name != "a header within a header":
            wrong[name] = status
    assert not wrong, wrong
    two = say(port, b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\nGET /healthz HTTP/1.1\r\n" + HOST +
              b"Connection: close\r\n\r\n")
    assert two.count(b"HTTP/1.1 200") == 2, two


def memory_of(pid):
    with open("/proc/%d/statm" % pid) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@plain_only
def test_hostile_clients_do_not_affect_others(cluster):
    scheduler = cluster.start_scheduler(*ANYWHERE)
    port = port_of(scheduler)
    cluster.start_agent("a", ["--worker_num", 1], SLEEP)
    cluster.wait_until_running(1)
    before = memory_of(scheduler.pid)

    for field in (b"X: " + b"a" * 65000 + b"\r\n", b"X: a\r\n" * 10000):  # 100 MB of headers, long ones or many
        with http_client.connect(port) as client:
            sent = 0
            try:
                client.sendall(b"GET / HTTP/1.1\r\n" + HOST)
                while sent < 100e6:
                    client.sendall(field)
                    sent += len(field)
            except OSError:
                pass
            assert sent < 50e6, "it went on reading"

    idle = [http_client.connect(port) for _ in range(1000)]
    for client in idle[::2]:
        try:
            client.sendall(b"GET / HT")
        except OSError:
            pass
    eventually(lambda: answers(port), 10, "an honest client is served beside 1,000 idle ones")

    slow = http_client.connect(port)  # a byte now and then, for ever
    deadline = time.monotonic() + 14 * muster.SLOWNESS
    slow.settimeout(0.5)
    ended = False
    while not ended and time.monotonic() < deadline:
        try:
            slow.sendall(b"G")
            ended = slow.recv(4096) != b"x"
        except TimeoutError:
            pass
        except OSError:
            ended = True
    assert ended, "a client that never says a whole request is still there"
    for client in idle:
        client.close()
    slow.close()
    assert memory_of(scheduler.pid) - before < 100e6
    assert cluster.phase() == "running"
    assert metrics(port)['muster_job_nodes{job_id="default",state="connected"}'] == 1


FLOOD = """
import socket, sys, threading, time
port, threads, seconds = map(int, sys.argv[1:4])
more = b"".join(b"%s\\r\\n" % line.encode() for line in sys.argv[4:])
end = time.monotonic() + seconds
def ask(thread):
    number = thread * 1000000
    while time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), 2) as client:
                while time.monotonic() < end:
                    number += 1
                    client.sendall(b"GET /api/v1/events?after=%d HTTP/1.1\\r\\nHost: localhost\\r\\n%s\\r\\n" % (number, more))
                    if not client.recv(65536):
                        break
        except OSError:
            time.sleep(0.01)
for thread in range(threads):
    threading.Thread(target=ask, args=(thread,)).start()
print("on", flush=True)
"""


@plain_only
def test_a_client_without_identity_does_not_block_health_and_metrics(cluster):
    port = port_of(cluster.start_scheduler(*ANYWHERE))
    flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(port), "270", "8"], stdout=subprocess.PIPE, text=True)
    try:
        assert flood.stdout.readline() == "on\n"
        time.sleep(1)
        got = {path: [answers(port, path) for _ in range(8)] for path in ("/healthz", "/readyz", "/metrics")}
        assert all(got["/healthz"]) and all(got["/readyz"]), got
        assert any(got["/metrics"]), got
    finally:
        flood.wait(30)


@plain_only
def test_clients_with_the_token_do_not_block_health(cluster, tmp_path):
    file = tmp_path / "token"
    file.write_text("t" * 40 + "\n")
    file.chmod(0o600)
    port = port_of(cluster.start_scheduler(*ANYWHERE, "--http_token_file", file))
    flood = subprocess.Popen([sys.executable, "-c", FLOOD, str(port), "140", "4", "Authorization: Bearer " + "t" * 40],
                             stdout=subprocess.PIPE, text=True)
    try:
        assert flood.stdout.readline() == "on\n"
        time.sleep(1)
        got = [answers(port, path) for _ in range(8) for path in ("/healthz", "/readyz")]
        assert all(got), got
    finally:
        flood.wait(30)


def answers(port, path="/healthz"):
    try:
        return ask(port, path)[0] == 200
    except (OSError, http.client.HTTPException):
        return False


@plain_only
def test_many_viewers_share_what_the_core_is_asked(cluster):
    """A viewer that asks as fast as it can, on many connections, costs the loop only a few queries a second."""
    port = port_of(cluster.start_scheduler(*ANYWHERE))
    clients = [http_client.connect(port) for _ in range(50)]
    for client in clients:
        client.sendall((b"GET /metrics HTTP/1.1\r\n" + HOST + b"\r\n") * 4)
    for client in clients:
        text = b""
        while text.count(b"HTTP/1.1 200 OK") < 4:
            piece = client.recv(65536)
            assert piece, "the connection broke"
            text += piece
        client.close()
    waits = metrics(port)["muster_loop_wait_seconds_count"]
    assert waits < 60, "%d turns of the loop for 200 requests" % waits
