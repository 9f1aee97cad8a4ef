"""ms-scheduler and ms-worker as services of systemd: the messages that they send to NOTIFY_SOCKET."""

import os
import signal
import socket
import time

import pytest

import http_client
from muster import WITH_TLS


class Manager:
    """Listens in systemd's place."""

    def __init__(self, path):
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(20)

    def hear(self, what):
        """Returns the next message that contains `what`."""
        while True:
            text = self._socket.recv(4096).decode()
            if what in text:
                return text

    def close(self):
        self._socket.close()


@pytest.fixture
def manager(tmp_path):
    manager = Manager(tmp_path / "notify")
    yield manager
    manager.close()


def test_a_scheduler_reports_its_state(secured, manager):
    scheduler = secured.start_scheduler(env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": 600_000})
    assert "STATUS=listening on 127.0.0.1:" in manager.hear("READY=1")
    for _ in range(3):
        manager.hear("WATCHDOG=1")
    os.kill(scheduler.pid, signal.SIGHUP)
    assert "MONOTONIC_USEC=" in manager.hear("RELOADING=1")
    manager.hear("READY=1")
    os.kill(scheduler.pid, signal.SIGTERM)
    manager.hear("STOPPING=1")
    assert scheduler.wait(20) == 0


@pytest.mark.skipif(WITH_TLS, reason="asks in plain text")
def test_an_idle_scheduler_is_healthy(cluster, manager):
    """It gets no request for longer than any probe waits. It is healthy, and reports so to both observers."""
    scheduler = cluster.start_scheduler("--http_address", "127.0.0.1:0",
                                        env={"NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": 4_000_000})
    manager.hear("READY=1")
    begin = heard = time.monotonic()
    while heard < begin + 15:
        manager.hear("WATCHDOG=1")
        now = time.monotonic()
        assert now - heard < 4, "systemd would have ended it"
        heard = now
    for path in ("/healthz", "/readyz"):
        assert http_client.ask(http_client.port_of(scheduler), path)[::2] == (200, "ok\n")


def test_an_agent_reports_what_it_waits_for(cluster, manager):
    cluster.start_scheduler("--once")
    words = ["--worker_num", 2, "--local_worker_num", 1]
    shows = ["/bin/sh", "-c", 'echo "told: $NOTIFY_SOCKET."']
    first = cluster.start_agent("first", words, shows, env={"NOTIFY_SOCKET": manager.path})
    manager.hear("READY=1")
    manager.hear("STATUS=1 of 2 workers are here")
    second = cluster.start_agent("second", words, shows)
    manager.hear("STOPPING=1")
    for agent in (first, second):
        agent.expect(0)
    assert "told: ." in first.output(), "no process of the job speaks for the service"
