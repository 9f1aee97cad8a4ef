"""Mutual TLS between real programs: which peers are accepted, what is reported, and what changes while a job runs."""

import json
import os
import queue
import re
import signal
import subprocess
import time

import pytest

import muster
import pki
import wire
from muster import BIN, EXIT_SECURITY, WITH_TLS, eventually

SLEEP = ["sleep", "1000"]
WAIT_FOR_GO = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]
PASSWORD = "the-password-that-nobody-may-see"

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


def test_a_job_over_tls_and_the_peer_list_carries_fingerprints(secured, cluster):
    scheduler = secured.start_scheduler("--journal_path", "memory")
    show = ["sh", "-c", 'cp "$MS_CLUSTER_FILE" cluster-$RANK.json; env > env-$RANK; ulimit -c > core-$RANK']
    certificates = {name: secured.authority.node(name) for name in ("a", "b")}
    # MS_NODE_ID comes from the certificate.
    agents = [secured.start_node(name, show, "--worker_num", 2, certificate=certificate)
              for name, certificate in certificates.items()]
    for agent in agents:
        agent.expect(0)
        muster.no_warnings(agent)
    muster.no_warnings(scheduler)
    assert "mutual TLS" in scheduler.output() and "plain text" not in scheduler.output()
    for rank in (0, 1):
        nodes = json.loads((cluster.folder / ("cluster-%d.json" % rank)).read_text())
        told = json.dumps(nodes)
        for certificate in certificates.values():
            assert certificate.fingerprint() in told, told
    assert {node["node_id"] for job in secured.json("nodes")["jobs"] for node in job["nodes"]} == {"a", "b"}


def test_with_pkcs12_and_passwords_no_secret_is_seen_anywhere(secured, cluster):
    files = {"server_cert_path": "server.p12", "client_cert_path": "client.p12"}
    folder = secured.folder("scheduler", more=files)
    pki.write(folder.path / "server.p12", secured.authority.scheduler().p12(PASSWORD))
    pki.write(folder.path / "client.p12", secured.authority.host().p12(PASSWORD))
    password_file = folder.path / "password"
    pki.write(password_file, PASSWORD.encode() + b"\n")
    cluster.start_scheduler("--tls_config", folder.config, "--log_level", "debug",
                            env={"MS_TLS_SERVER_PASSWORD": PASSWORD, "SSLKEYLOGFILE": str(folder.path / "keys")})
    words = ["--tls_config", folder.config, "--worker_num", 2, "--log_level", "debug"]
    show = ["sh", "-c", "env > env-$RANK; ulimit -c > core-$RANK; " + WAIT_FOR_GO[2]]
    agents = [cluster.start_agent("a", [*words, "--node_id", "a"], show, env={"MS_TLS_CLIENT_PASSWORD": PASSWORD}),
              cluster.start_agent("b", [*words, "--node_id", "b"], show,
                                  env={"MS_TLS_CLIENT_PASSWORD_FILE": password_file})]
    eventually(lambda: (cluster.folder / "core-0").exists() and (cluster.folder / "core-1").exists(), 30, "both run")
    limit = subprocess.run(["sh", "-c", "ulimit -c"], stdout=subprocess.PIPE, text=True).stdout
    for rank in (0, 1):
        assert "PASSWORD" not in (cluster.folder / ("env-%d" % rank)).read_text()
        assert (cluster.folder / ("core-%d" % rank)).read_text() == limit, "processes keep their limit of core dumps"
    for program in cluster.programs:
        root = "/proc/%d/" % program.pid
        assert PASSWORD.encode() not in open(root + "cmdline", "rb").read(), program.name
        assert PASSWORD.encode() not in open(root + "environ", "rb").read(), program.name
    for process in cluster.descendants():
        try:
            for what in ("cmdline", "environ"):
                assert PASSWORD.encode() not in open("/proc/%d/%s" % (process.pid, what), "rb").read(), process
        except OSError:
            pass
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)
    for program in cluster.programs:
        assert PASSWORD not in program.output(), program.name
        assert "PRIVATE KEY" not in program.output(), program.name
    assert not (folder.path / "keys").exists()


def test_what_holds_keys_makes_no_core_dump(secured, cluster):
    """The files in /proc of a process that may not be dumped belong to root, whichever user it runs as."""
    nobody = ["setpriv", "--reuid", 65534, "--clear-groups", "--inh-caps", "+dac_override", "--ambient-caps", "+dac_override",
              "--"] if os.getuid() == 0 else []  # with root's access, for the folders of this test

    def owner(program):
        return os.stat("/proc/%d/environ" % program.pid).st_uid
    scheduler_files = secured.folder("scheduler", server=secured.authority.scheduler(), client=secured.authority.admin())
    scheduler = cluster.start("scheduler", [*nobody, BIN / "ms-scheduler", "--sched_port", 0, "--tls_config",
                                            scheduler_files.config], kind=muster.Scheduler)
    scheduler.find_port()
    node_files = secured.folder("a", client=secured.authority.node("a"))
    agent = cluster.start("agent", [*nobody, BIN / "ms-worker", *cluster.agent_words(scheduler), "--worker_num", 2,
                                    "--tls_config", node_files.config, "--print_assignment"])
    agent.expect_said("joined job")
    assert owner(scheduler) == owner(agent) == 0
    plain = cluster.start("plain", [*nobody, BIN / "ms-scheduler", "--sched_port", 0], kind=muster.Scheduler)
    plain.find_port()
    assert owner(plain) == (65534 if nobody else os.getuid()), "without TLS there is nothing to hide"


def test_a_keepers_last_report_goes_over_tls(secured, cluster):
    secured.start_scheduler("--disconnect_grace", 100)
    agents = [secured.start_node(name, SLEEP, "--worker_num", 2) for name in ("a", "b")]
    secured.wait_until_running(2)
    for file in secured.folders["a"].path.iterdir():  # the last report shows the certificate that the agent had
        file.unlink()
    agents[0].send(signal.SIGKILL)
    agents[1].expect(muster.EXIT_FAILED_ELSEWHERE, timeout=20)  # within the grace: a last report announced the death
    assert "SIGKILL" in agents[1].output()


def test_the_ring_is_checked_with_the_certificates_that_were_announced(secured):
    secured.start_scheduler("--worker_num", 2)
    words = ["--worker_num", 2, "--preflight", "ring"]
    show = ["sh", "-c", "env | grep -c MUSTER_TLS_HAND; ls /proc/self/fd | wc -l"]
    agents = [secured.start_node("a", show, *words)]
    agents[0].expect_said("joined job")
    for file in secured.folders["a"].path.iterdir():
        file.unlink()
    agents.append(secured.start_node("b", show, *words))
    for agent in agents:
        agent.expect(0, 60)
        assert "\n0\n4\n" in agent.output(), "no more than the standard streams, and what ls opens: " + agent.output()
    assert any("over mutual TLS: good" in agent.output() for agent in agents)


def wrong_certificates():
    def dates(authority):
        return authority.node("a", from_hours=-2, until_hours=-1), r"client_cert_path.*expired at"

    def early(authority):
        return authority.node("a", from_hours=1, until_hours=2), r"valid only from"

    def other_authority(_):
        return pki.Authority("other").node("a"), r"not from an authority in ca_cert_path"

    def unnamed(authority):
        return authority.issue(None), r"has no URI name"

    def other_id(authority):
        return authority.node("b"), r"node/b, but MS_NODE_ID is a"

    def other_job(authority):
        return authority.node("a", job="another"), r"another/node/a, but the job is default"

    def usage(authority):
        return authority.issue("spiffe://%s/muster/*/node/a" % pki.DOMAIN, is_server=True), r"not for this use"

    def admin(authority):
        return authority.admin(), r"admin, which is no.* a node"
    return [dates, early, other_authority, unnamed, other_id, other_job, usage, admin]


@pytest.mark.parametrize("wrong", wrong_certificates(), ids=lambda wrong: wrong.__name__)
def test_an_agent_reads_what_is_wrong_with_its_own_certificate(secured, wrong):
    secured.start_scheduler()
    certificate, told = wrong(secured.authority)
    agent = secured.start_node("a", ["touch", "started"], "--worker_num", 1, "--node_id", "a", certificate=certificate)
    agent.expect(EXIT_SECURITY, timeout=10)
    assert re.search(told, agent.output()), agent.output()
    assert not (secured.cluster.folder / "started").exists()


@pytest.mark.parametrize("what, told", [("missing", "can't be read"), ("readable", "chmod 600"), ("garbage", "not a PKCS#12"),
                                        ("mismatch", "does not belong"), ("config", "not JSON")])
def test_an_agent_reads_what_is_wrong_with_its_files(secured, cluster, what, told):
    folder = secured.folder("a", client=secured.authority.node("a"))
    client = folder.path / "client.pem"
    if what == "missing":
        client.unlink()
    elif what == "readable":
        client.chmod(0o644)
    elif what == "garbage":
        pki.write(client, b"no certificate")
    elif what == "mismatch":
        pki.write(client, secured.authority.node("a").pem().split(b"-----BEGIN PRIVATE")[0] + b"-----BEGIN PRIVATE" +
                  secured.authority.node("a").pem().split(b"-----BEGIN PRIVATE")[1])
    else:
        pki.write(folder.config, b"{")
    agent = cluster.start_agent("a", ["--sched_port", 9999, "--tls_config", folder.config], ["true"])
    agent.expect(EXIT_SECURITY, timeout=10)
    assert told in agent.output() and str(folder.path) in agent.output(), agent.output()


def test_a_certificate_that_the_scheduler_refuses_ends_with_15(secured):
    scheduler = secured.start_scheduler()
    certificate = secured.authority.node("a")
    secured.authority.revoked.append(certificate)
    secured.folders["scheduler"].write_list()
    secured.authority.revoked.clear()  # the agent's own list does not contain it
    scheduler.expect_said("a new revocation list is in force")
    agent = secured.start_node("a", ["true"], "--worker_num", 1, certificate=certificate)
    agent.expect(EXIT_SECURITY, timeout=30)
    assert "does not accept this node's certificate" in agent.output(), agent.output()
    assert secured.count("tls: revoked") >= 5


def test_the_schedulers_certificate_must_be_for_the_host_that_is_dialed(secured, cluster):
    folder = secured.folder("scheduler", server=secured.authority.scheduler(hosts=["elsewhere.example"]),
                            client=secured.authority.admin())
    cluster.start_scheduler("--tls_config", folder.config)
    agent = secured.start_node("a", ["true"], "--worker_num", 1)
    agent.expect(EXIT_SECURITY, timeout=20)
    assert re.search(r'is not for "127.0.0.1"', agent.output()), agent.output()
    told = secured.ctl("status", code=EXIT_SECURITY)
    assert "is not for" in told, told


def test_a_node_that_poses_as_the_scheduler_is_not_believed(secured, cluster):
    node = secured.authority.issue("spiffe://%s/muster/*/node/x" % pki.DOMAIN, pki.SCHEDULER_HOSTS, is_server=True)
    folder = secured.folder("scheduler", server=node)
    cluster.start_scheduler("--tls_config", folder.config, "--tls_identity", "ca-only")
    agent = secured.start_node("a", ["true"], "--worker_num", 1)
    agent.expect(EXIT_SECURITY, timeout=20)
    assert "a program other than a scheduler for this job" in agent.output(), agent.output()


def test_plain_text_and_tls_do_not_meet(secured, cluster):
    secured.start_scheduler()
    plain = cluster.start_agent("plain", ["--worker_num", 1, "--cluster_retry_num", 1], ["true"])
    plain.expect(muster.EXIT_UNREACHABLE, timeout=30)
    assert secured.count("tls: plain text") >= 1
    other = cluster.start_scheduler(name="plain-scheduler")
    agent = secured.start_node("a", ["true"], "--worker_num", 1, "--cluster_retry_num", 1, scheduler=other)
    agent.expect(muster.EXIT_UNREACHABLE, timeout=30)
    counted = cluster.ctl_json("counters", scheduler=other)["counters"]
    assert counted.get("foreign protocol", 0) >= 1, counted


def test_a_revoked_nodes_open_stream_is_cut_within_2_s(secured, measured):
    secured.start_scheduler()
    certificate = secured.authority.node("a")
    bad = secured.start_node("a", SLEEP, "--worker_num", 2, "--cluster_retry_num", 4, certificate=certificate)
    secured.start_node("b", SLEEP, "--worker_num", 2)
    secured.wait_until_running(2)
    secured.authority.revoked.append(certificate)
    secured.folders["scheduler"].write_list()
    began = time.monotonic()
    bad.expect_said("revoked", timeout=5)
    measured("cut", time.monotonic() - began, at_most=2)
    assert bad.is_running(), "a listing by mistake can still be undone"
    bad.expect(EXIT_SECURITY, timeout=30)
    assert secured.count("tls: revoked") >= 1


@pytest.mark.parametrize("whose", ["its own certificate", "its intermediate's"])
def test_an_agent_leaves_a_scheduler_that_was_revoked(secured, cluster, whose):
    intermediate = secured.authority.subordinate("e2e intermediate")
    certificate = intermediate.scheduler()
    folder = secured.folder("scheduler", server=certificate, client=secured.authority.admin())
    cluster.start_scheduler("--tls_config", folder.config)
    agent = secured.start_node("a", SLEEP, "--worker_num", 1)
    secured.wait_until_running(1)
    if whose == "its own certificate":
        intermediate.revoked.append(certificate)
    else:
        secured.authority.revoked.append(intermediate)
    secured.folders["a"].write_list()
    agent.expect_said("WARNING .*revoked", timeout=5)
    assert agent.is_running(), "its processes go on while it knocks: the scheduler may get a new certificate"
    pki.write(folder.path / "server.pem", secured.authority.scheduler().pem())
    agent.expect_said("reconnected", timeout=15)


def test_a_join_that_is_played_again_or_stale_is_refused_and_counted(secured, cluster):
    scheduler = secured.start_scheduler()
    pb = wire.messages()
    with wire.tls_channel(scheduler.port, secured.authority, secured.authority.node("a")) as channel:
        requests = queue.SimpleQueue()
        message = wire.join(pb, "default", "a", 4711, 2)
        requests.put(message)
        replies = wire.open_session(channel, pb, iter(requests.get, None), timeout=60)
        welcome = next(replies).welcome
        assert (welcome.node_id, welcome.run) == ("a", 1)

        def refusal(**changes):
            again = pb.AgentMessage.FromString(message.SerializeToString())
            for field, value in changes.items():
                setattr(again.join, field, value)
            return next(wire.open_session(channel, pb, iter([again]), timeout=60)).refusal
        assert "newer connection" in refusal().text, "the very same bytes"
        assert "stale" in refusal(incarnation=4712, run=1, connect_seq=9).text
        assert "over and forgotten" in refusal(run=7, connect_seq=9).text
        assert "does not know the cluster" in refusal(cluster_id="another", connect_seq=9).text
        assert "is in term 1" in refusal(term=2, cluster_id=welcome.cluster_id, connect_seq=9).text
        assert "certificate's name" in refusal(node_id="b", connect_seq=9).text
        counted = secured.json("counters")["counters"]
        for name in ("refused STALE_CONNECT", "refused STALE_INCARNATION", "refused RUN_UNKNOWN",
                     "refused CLUSTER_CHANGED", "refused STALE_TERM", "identity: other node"):
            assert counted.get(name) == 1, counted
        # The one that joined first is not affected.
        report = pb.AgentMessage()
        report.report.heartbeat_seq = 1
        requests.put(report)
        assert any(reply.acknowledgement.heartbeat_seq == 1 for reply in replies)
        requests.put(None)


def test_a_missing_or_damaged_list_refuses_the_start_and_later_keeps_the_last_good_one(secured, cluster):
    folder = secured.folder("broken", server=secured.authority.scheduler())
    for damage in (b"garbage", None):
        (folder.path / "crl.pem").unlink()
        if damage is not None:
            pki.write(folder.path / "crl.pem", damage)
        started = cluster.start("scheduler-%s" % damage, ["ms-scheduler", "--sched_port", 0, "--tls_config", folder.config])
        started.expect(EXIT_SECURITY)
        assert "crl_path" in started.output(), started.output()
    scheduler = secured.start_scheduler()
    pki.write(secured.folders["scheduler"].path / "crl.pem", b"garbage")
    scheduler.expect_said("the last good one stays", timeout=5)
    agent = secured.start_node("a", ["true"], "--worker_num", 1)
    agent.expect(0)
    assert secured.count("tls: reload refused", folder="a") == 1  # the other folder's list is damaged


def test_certificates_are_renewed_while_a_job_runs(secured):
    scheduler = secured.start_scheduler()
    certificates = {name: secured.authority.node(name) for name in ("a", "b")}
    agents = [secured.start_node(name, WAIT_FOR_GO, "--worker_num", 2, certificate=certificate)
              for name, certificate in certificates.items()]
    secured.wait_until_running(2)
    renewed = secured.authority.scheduler()
    pki.write(secured.folders["scheduler"].path / "server.pem", renewed.pem()[:300])
    scheduler.expect_said("the last good one stays", timeout=5)
    pki.write(secured.folders["scheduler"].path / "server.pem", renewed.pem())
    scheduler.send(signal.SIGHUP)
    scheduler.expect_said("a new certificate is served", timeout=5)
    eventually(lambda: secured.json("counters")["certificate_fingerprint"] == renewed.fingerprint(), 5, "it is served")
    # The agent comes back with its new certificate, so that the old one can be revoked.
    old, new = certificates["a"], secured.authority.node("a")
    pki.write(secured.folders["a"].path / "client.pem", new.pem())
    agents[0].expect_said("a new certificate is served", timeout=5)
    # The agent may learn first of the new connection's welcome or of the old one's end: this is a race.
    agents[0].expect_said("shows the renewed certificate", timeout=20)
    assert "lost the scheduler" not in agents[0].output(), agents[0].output()
    secured.authority.revoked.append(old)
    for lists in (1, 2):  # one after the other: once the second is in force, all peers were checked against the first
        secured.folders["scheduler"].write_list()
        scheduler.expect_said(r"(a new revocation list is in force[\s\S]*){%d}" % lists, timeout=5)
    assert any("renewed certificate" in event["text"] for event in secured.json("events")["events"])
    assert secured.count("tls: revoked") == 0
    (secured.cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)


def test_ms_ring_works_after_a_renewal_between_rounds(secured, cluster):
    secured.start_scheduler()
    command = ["sh", "-c", "while [ ! -e fail-$MS_ROUND-$RANK ]; do sleep 0.1; done; exit 7"]
    agents = [secured.start_node(name, command, "--worker_num", 2, "--enable_recovery", 1, "--preflight", "ring")
              for name in ("a", "b")]
    secured.wait_until_running(2)
    renewed = secured.authority.node("a")
    pki.write(secured.folders["a"].path / "client.pem", renewed.pem())
    agents[0].expect_said("shows the renewed certificate", timeout=20)
    (cluster.folder / "fail-1-0").touch()
    eventually(lambda: any(job["round"] == 2 for job in secured.json("ranks")["jobs"]), 30, "the next round")
    secured.wait_until_running(2)
    for agent in agents:
        assert "not the one" not in agent.output(), agent.output()


def test_require_tls_refuses_plain_text_to_other_machines(cluster):
    words = ["--require_tls", "--sched_host", "192.0.2.1", "--sched_port", 9999]
    agent = cluster.start_agent("agent", words, ["true"])
    agent.expect(EXIT_SECURITY, timeout=10)
    assert "--tls_config" in agent.output(), agent.output()
    assert "--tls_config" in cluster.ctl("--require_tls", "--sched_host", "192.0.2.1", "--sched_port", 9999, "status",
                                         code=EXIT_SECURITY, scheduler=cluster.start_scheduler())
    scheduler = cluster.start("open", ["ms-scheduler", "--require_tls", "--listen_address", "0.0.0.0", "--sched_port", 0])
    scheduler.expect(2)


def test_ca_only_is_mindspores_way_and_is_warned_of(secured, cluster):
    folder = secured.folder("shared", server=secured.authority.issue(None, is_server=True),
                            client=secured.authority.issue(None))
    scheduler = cluster.start_scheduler("--tls_config", folder.config, "--tls_identity", "ca-only")
    agent = cluster.start_agent("a", ["--tls_config", folder.config, "--tls_identity", "ca-only", "--worker_num", 1],
                                ["true"])
    agent.expect(0)
    for program in (scheduler, agent):
        assert re.search(r"WARNING.*ca-only", program.output()), program.output()


def test_one_line_starts_everything_with_tls(secured, cluster):
    folder = secured.folder("all", server=secured.authority.scheduler(), client=secured.authority.host())
    agent = cluster.start_agent("alone", ["--standalone", "--tls_config", folder.config, "--local_worker_num", 2,
                                          "--sched_port", 9999], ["sh", "-c", "exit 0"])
    agent.expect(0)


def test_the_documents_own_configuration_works(secured, cluster):
    """MindSpore's example, including its typing error, with PKCS#12 files and passwords."""
    ciphers = ("ECDHE-R SA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:"
               "DHE-PSK-CHACHA20-POLY1305")
    folder = secured.folder("document", more={"server_cert_path": "server.p12", "client_cert_path": "client.p12",
                                              "crl_path": "", "cipher_list": ciphers})
    pki.write(folder.path / "server.p12", secured.authority.scheduler().p12(PASSWORD))
    pki.write(folder.path / "client.p12", secured.authority.host().p12(PASSWORD))
    env = {"MS_TLS_SERVER_PASSWORD": PASSWORD, "MS_TLS_CLIENT_PASSWORD": PASSWORD, "MS_TLS_CONFIG": folder.config}
    scheduler = cluster.start_scheduler(env=env)
    agent = cluster.start_agent("a", ["--worker_num", 1], ["true"], env=env)
    agent.expect(0)
    assert scheduler.output().count("cipher_list") == 1 and "WARNING" in scheduler.output(), scheduler.output()


def test_a_wrong_password_is_reported_but_not_shown(secured, cluster):
    folder = secured.folder("a", more={"client_cert_path": "client.p12"})
    pki.write(folder.path / "client.p12", secured.authority.node("a").p12(PASSWORD))
    agent = cluster.start_agent("a", ["--sched_port", 9999, "--tls_config", folder.config], ["true"],
                                env={"MS_TLS_CLIENT_PASSWORD": "guessed-wrong"})
    agent.expect(EXIT_SECURITY)
    assert "password is wrong" in agent.output() and "guessed-wrong" not in agent.output(), agent.output()
    assert "MS_TLS_CLIENT_PASSWORD" in agent.output(), agent.output()


def test_one_nodes_certificate_leaves_places_for_the_jobs_of_others(secured, cluster):
    scheduler = secured.start_scheduler("--disconnect_grace", 60)
    pb = wire.messages()
    refusals = []
    with wire.tls_channel(scheduler.port, secured.authority, secured.authority.node("a")) as channel:
        for number in range(1100):  # each stays in its job for --disconnect_grace
            requests = queue.SimpleQueue()
            requests.put(wire.join(pb, "made-up-%d" % number, "a", number + 1, 2))
            refusals.append(next(wire.open_session(channel, pb, iter(requests.get, None), timeout=60)).refusal.text)
            requests.put(None)
    assert refusals[874] == "" and "has 875 of the 1000 jobs" in refusals[875], refusals[870:880]
    assert "ms-ctl stop" in refusals[-1]
    assert secured.count("too many jobs of one party") == 1100 - 875
    honest = secured.start_node("b", ["true"], "--job_id", "honest", "--worker_num", 1)
    honest.expect(0, timeout=20)
