"""ms-scheduler as a service that systemd watches: what it tells NOTIFY_SOCKET."""

import os
import signal
import socket


def test_it_tells_how_it_is(secured, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(20)
        told = []

        def hear(what):
            while not any(what in text for text in told):
                told.append(manager.recv(4096).decode())
            return told.pop()

        scheduler = secured.start_scheduler(env={"NOTIFY_SOCKET": tmp_path / "notify", "WATCHDOG_USEC": 600_000})
        assert "STATUS=listening on 127.0.0.1:" in hear("READY=1")
        told.clear()
        for _ in range(3):
            hear("WATCHDOG=1")
        os.kill(scheduler.pid, signal.SIGHUP)
        assert "MONOTONIC_USEC=" in hear("RELOADING=1")
        hear("READY=1")
        os.kill(scheduler.pid, signal.SIGTERM)
        hear("STOPPING=1")
        assert scheduler.wait(20) == 0
