"""What ms-ctl may see and change over mutual TLS."""

import os
import pathlib
import re
import socket
import time

import pytest

import muster
import pki
from muster import EXIT_SECURITY, WITH_TLS

SLEEP = ["sleep", "1000"]

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


def start_watch(secured, certificate):
    folder = secured.folder("watcher", client=certificate)
    # Uses only the port.
    return secured.cluster.start("watch", ["ms-ctl", "watch", *secured.cluster.agent_words(), "--tls_config",
                                           folder.config, "--admin_socket", "/nonexistent"])


def test_watch_stays_over_a_restart_and_ends_with_15_when_it_is_refused(secured, cluster):
    journal = ["--journal_path", cluster.folder / "journal.db"]
    first = secured.start_scheduler(*journal)
    secured.start_node("a", SLEEP, "--worker_num", 1)
    secured.wait_until_running(1)
    certificate = secured.authority.admin()
    watch = start_watch(secured, certificate)
    watch.expect_said("default/1")
    muster.kill_now(first.pid)
    time.sleep(2)  # it asks twice a second
    assert watch.is_running(), watch.output()
    cluster.start_scheduler("--tls_config", secured.folders["scheduler"].config, *journal, name="second",
                            port=first.port)
    secured.ctl("drain", "a")
    watch.expect_said("drain", timeout=10)
    assert "certificate" not in watch.output(), watch.output()
    secured.authority.revoked.append(certificate)
    secured.folders["scheduler"].write_list()
    watch.expect(EXIT_SECURITY, timeout=10)
    # Over the connection that was open, or with the next one.
    assert re.search("was revoked|does not take this certificate", watch.output()), watch.output()


def test_watch_leaves_a_scheduler_that_was_revoked(secured, cluster):
    certificate = secured.authority.scheduler()
    folder = secured.folder("scheduler", server=certificate)
    cluster.start_scheduler("--tls_config", folder.config)
    watch = start_watch(secured, secured.authority.admin())
    watch.expect_said("no job yet")
    secured.authority.revoked.append(certificate)
    secured.folders["watcher"].write_list()
    watch.expect(EXIT_SECURITY, timeout=10)
    assert "revoked" in watch.output(), watch.output()


def test_changes_want_an_admins_certificate_or_the_unix_socket(secured, cluster):
    secured.start_scheduler()
    secured.start_node("a", SLEEP, "--worker_num", 1)
    secured.wait_until_running(1)
    cluster.env["XDG_RUNTIME_DIR"], kept = str(cluster.folder / "nowhere"), cluster.env["XDG_RUNTIME_DIR"]
    told = secured.ctl("stop", "--admin_socket", "/nowhere", code=10)
    assert "no scheduler's socket" in told, told
    assert "stop" in secured.ctl("stop", "--yes"), "an admin's certificate, over TCP"
    cluster.env["XDG_RUNTIME_DIR"] = kept
    agent = secured.start_node("b", SLEEP, "--worker_num", 1)
    secured.wait_until_running(1)
    assert "stop" in secured.ctl("stop", "--yes", folder="b"), "the Unix socket"
    agent.wait(20)


def test_an_admin_of_one_job_steers_that_one_only(secured, cluster):
    secured.start_scheduler()
    agents = {job: secured.start_node(job, SLEEP, "--worker_num", 1, "--job_id", job) for job in ("one", "two")}
    secured.wait_until_running(2)
    secured.folder("admin", client=secured.authority.issue("spiffe://%s/muster/one/admin" % pki.DOMAIN))
    cluster.env["XDG_RUNTIME_DIR"] = str(cluster.folder / "nowhere")
    assert "is not for job" in secured.ctl("stop", "two", folder="admin", code=EXIT_SECURITY)
    secured.ctl("stop", "one", folder="admin")
    agents["one"].wait(20)
    assert agents["two"].is_running()


def test_the_scheduler_of_one_job_is_believed_for_that_one_only(secured, cluster):
    certificate = secured.authority.issue("spiffe://%s/muster/one/scheduler" % pki.DOMAIN, pki.SCHEDULER_HOSTS,
                                          is_server=True)
    folder = secured.folder("scheduler", server=certificate, client=secured.authority.admin())
    cluster.start_scheduler("--tls_config", folder.config)
    agent = secured.start_node("a", SLEEP, "--worker_num", 1, "--job_id", "one")
    secured.wait_until_running(1)
    for words in (["status", "--job", "two"], ["why", "two"], ["stop", "two"], ["drain", "a", "--job", "two"]):
        told = secured.ctl(*words, code=EXIT_SECURITY)
        assert "/muster/two/scheduler" in told, told
    secured.ctl("counters", "--job", "two")
    secured.ctl("status", "--job", "one")
    secured.ctl("stop", "one")
    agent.wait(20)


def test_a_nodes_certificate_changes_nothing(secured, cluster):
    secured.start_scheduler("--admin_socket", cluster.folder / "elsewhere.sock")
    agent = secured.start_node("a", SLEEP, "--worker_num", 1)
    secured.wait_until_running(1)
    left = pathlib.Path("/run/muster/scheduler-%d.sock" % cluster.scheduler.port)
    if os.getuid() == 0 and not left.exists():  # as a killed scheduler leaves it
        left.parent.mkdir(mode=0o700, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(left))
    for words in (["stop", "default", "--yes"], ["stop"], ["restart"], ["fence", "a"], ["drain", "a"], ["stacks"], ["logs", "0"]):
        told = secured.ctl(*words, folder="a", code=EXIT_SECURITY)
        assert re.search(r"refused: .* an admin's certificate.*/node/a\. .*ms-ctl certs admin", told), told
    assert agent.is_running()
    left.unlink(missing_ok=True)


def test_a_node_sees_its_own_job_only(secured, cluster):
    secured.start_scheduler()
    for name, job in (("a", "one"), ("b", "two")):
        secured.start_node(name, SLEEP, "--worker_num", 1, "--job_id", job, certificate=secured.authority.node(name, job))
    secured.wait_until_running(2)
    cluster.env["XDG_RUNTIME_DIR"] = str(cluster.folder / "nowhere")  # not over the Unix socket

    def jobs(folder):
        return {run["job_id"] for run in secured.json("status", folder=folder)["runs"]}
    assert jobs("scheduler") == {"one", "two"}, "an admin of all jobs"
    assert jobs("a") == {"one"} and jobs("b") == {"two"}
    assert {event["job_id"] for event in secured.json("events", folder="a")["events"]} == {"one"}
    assert "is not for job" in secured.ctl("status", "--job", "two", folder="a", code=EXIT_SECURITY)
    assert secured.count("identity: other job", folder="a") >= 1, "counters are for everybody"
