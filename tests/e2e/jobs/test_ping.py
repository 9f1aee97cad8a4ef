"""`ms-ctl ping` names the obstacle on the way to the scheduler, and the remedy."""

import json
import subprocess

import pytest

import pki
from muster import BIN, WITH_TLS

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


def ping(cluster, *words, netns=None):
    inside = ["ip", "netns", "exec", netns] if netns else []
    done = subprocess.run([str(word) for word in [*inside, BIN / "ms-ctl", "ping", "--json", *words]], env=cluster.env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30)
    checks = {}
    for check in json.loads(done.stdout)["checks"]:
        checks.setdefault(check["check"], []).append(check)
    return done.returncode, checks


def levels(checks):
    return {name: [check["level"] for check in found] for name, found in checks.items()}


def test_all_is_well(cluster):
    scheduler = cluster.start_scheduler("--journal_path", "memory")
    code, checks = ping(cluster, "--sched_port", scheduler.port)
    assert code == 0
    assert levels(checks) == {name: ["ok"] for name in ("name", "tcp", "tls", "version", "clock", "udp")}, checks
    text = subprocess.run([BIN / "ms-ctl", "ping", "--sched_port", str(scheduler.port)], env=cluster.env, check=True,
                          stdout=subprocess.PIPE, text=True, timeout=30).stdout
    assert [line.split()[:2] for line in text.splitlines()] == [[name, "ok"] for name in checks], text
    assert cluster.ctl_json("counters")["counters"] == {}, "a ping is no attack"


def test_no_server_listens(cluster, network):
    code, checks = ping(cluster, netns=network.machine().name)
    assert code == 10 and levels(checks) == {"name": ["ok"], "tcp": ["error"]}, checks
    assert "--sched_port" in checks["tcp"][0]["remedy"]


def test_a_name_that_is_unknown(cluster):
    code, checks = ping(cluster, "--sched_host", "no-such-host.invalid")
    assert code == 10 and levels(checks) == {"name": ["error"]}, checks
    assert "--sched_host" in checks["name"][0]["remedy"]


def test_what_drops_in_silence(cluster, network):
    here, there = network.pair()
    there.cut_cable()
    code, checks = ping(cluster, "--sched_host", there.address, "--timeout", "0.5", netns=here.name)
    assert code == 10 and levels(checks) == {"name": ["ok"], "tcp": ["error"]}, checks
    assert "firewall" in checks["tcp"][0]["remedy"]


def test_no_datagrams(cluster):
    scheduler = cluster.start_scheduler("--journal_path", "memory", "--heartbeat_datagrams=false")
    code, checks = ping(cluster, "--sched_port", scheduler.port)
    assert code == 0 and levels(checks)["udp"] == ["warning"], checks
    assert "UDP" in checks["udp"][0]["remedy"]


def test_tls(cluster):
    authority = pki.Authority()
    folder = pki.Folder(cluster.folder / "tls", authority, authority.scheduler(), authority.admin())
    scheduler = cluster.start_scheduler("--journal_path", "memory", "--tls_config", folder.config)
    code, checks = ping(cluster, "--sched_port", scheduler.port, "--tls_config", folder.config)
    assert code == 0 and levels(checks)["tls"] in (["ok"], ["warning"]), checks
    assert "first to end" in checks["tls"][0]["text"]
    code, checks = ping(cluster, "--sched_port", scheduler.port)  # without a certificate
    assert code in (10, 15) and levels(checks)["tls"] == ["error"], checks
    assert "--tls_config" in checks["tls"][0]["remedy"]
