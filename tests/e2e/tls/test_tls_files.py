"""TLS files on a file system that hangs: the scheduler goes on serving, reports the problem, and ends on SIGTERM."""

import json
import signal
import time

import pytest

import pki
from muster import BIN, WITH_TLS, eventually

HANGING = BIN / "tls_hanging_files.so"
CALLS = ["open", "stat"]

pytestmark = [pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own"),
              pytest.mark.skipif(not HANGING.exists(), reason="tls_hanging_files is not built")]


class HangingFile:
    """One file of the scheduler's TLS configuration that can be made to hang."""

    def __init__(self, cluster, name, call):
        self.switch, self.reached = cluster.folder / "hangs", cluster.folder / "hangs.reached"
        self.authority = pki.Authority()
        self.folder = pki.Folder(cluster.folder / "tls", self.authority, server=self.authority.scheduler(),
                                 client=self.authority.admin())
        self.env = {"LD_PRELOAD": str(HANGING), "MUSTER_TEST_FILE": "/" + name, "MUSTER_TEST_HANGS": str(self.switch),
                    "MUSTER_TEST_CALL": call}

    def hang(self):
        self.switch.touch()

    def await_hanging(self):
        """Waits until a call waits for the file."""
        eventually(self.reached.exists, 10, "a call hangs")

    def answer(self):
        self.switch.unlink()
        self.reached.unlink()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", ["crl.pem", "server.pem", "ca.pem"])
def test_a_start_that_hangs_ends_on_a_signal(cluster, name, call):
    file = HangingFile(cluster, name, call)
    file.hang()
    scheduler = cluster.start("scheduler", [BIN / "ms-scheduler", "--sched_port", 0, "--tls_config", file.folder.config],
                              env=file.env)
    file.await_hanging()
    assert scheduler.is_running(), scheduler.output()
    assert "listening" not in scheduler.output(), "it hangs at its files"
    scheduler.send(signal.SIGTERM)
    began = time.monotonic()
    scheduler.wait(10)
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("call", CALLS)
def test_a_running_scheduler_serves_on_and_ends(cluster, measured, call):
    file = HangingFile(cluster, "crl.pem", call)
    scheduler = cluster.start_scheduler("--tls_config", file.folder.config, env=file.env)
    file.hang()
    scheduler.expect_said("file system does not answer", timeout=10)
    agent = cluster.start_agent("a", ["--tls_config", pki.Folder(cluster.folder / "a", file.authority,
                                                                client=file.authority.node("a")).config,
                                      "--worker_num", 1], ["true"])
    agent.expect(0)
    counted = json.loads(cluster.ctl("--tls_config", file.folder.config, "counters", "--json"))["counters"]
    assert counted["tls: files do not answer"] >= 1, counted
    # A change in the meantime takes effect when the file system answers again.
    revoked = file.authority.node("b")
    file.authority.revoked.append(revoked)
    file.folder.write_list()
    file.answer()
    scheduler.expect_said("a new revocation list is in force", timeout=5)
    file.hang()
    file.await_hanging()
    began = time.monotonic()
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0)
    measured("end", time.monotonic() - began, at_most=5)
