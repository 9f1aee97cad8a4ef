"""ms-ctl against a real scheduler."""

import json
import os
import pathlib
import pty
import re
import subprocess

import pytest

from muster import BIN, EXIT_REFUSED, EXIT_STOPPED, eventually

UNTIL_GO = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]


def start_job(cluster, command, job="default"):
    agents = [cluster.start_agent("%s%d" % (job, i), ["--job_id", job, "--worker_num", 2, "--node_id", i], command)
              for i in range(2)]
    cluster.wait_until_running(2, job)
    return agents


def start_watch(cluster, name, *words, **options):
    return cluster.start(name, [BIN / "ms-ctl", "watch", *cluster.agent_words(), *words], **options)


def test_tables_and_json_agree(cluster):
    cluster.start_scheduler()
    assert "no job yet" in cluster.ctl("status")
    assert cluster.ctl_json("nodes") == {"jobs": []}
    agents = start_job(cluster, UNTIL_GO)
    status = cluster.ctl("status")
    assert re.search(r"^job default, run 1: running, round 1$", status, re.MULTILINE), status
    nodes = cluster.ctl("nodes").splitlines()
    assert nodes[0].split()[:3] == ["NODE", "STATE", "ROLE"] and len(nodes) == 3, nodes
    ranks = cluster.ctl_json("ranks")["jobs"][0]
    assert [rank["pid"] > 0 for rank in ranks["ranks"]] == [True, True]
    table = cluster.ctl("ranks")
    for rank in ranks["ranks"]:
        assert re.search(r"^ +%d +worker +%s .*running +%d$" % (rank["rank"], rank["node_id"], rank["pid"]), table,
                         re.MULTILINE), table
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)
    events = cluster.ctl("events").splitlines()
    assert len(events) == len(cluster.ctl_json("events")["events"]) > 3
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  default/1  ", line) for line in events[-3:]), events
    assert re.search(r"succeeded", cluster.ctl("status"))


def test_an_unknown_job_is_answered_with_the_known_ones(cluster):
    cluster.start_scheduler()
    start_job(cluster, UNTIL_GO, "train")
    said = cluster.ctl("status", "--job", "trian", code=1)
    assert "trian" in said and "train" in said, said


def test_stop_ends_the_job(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster, ["sleep", "1000"])
    other = start_job(cluster, UNTIL_GO, "other")
    said = cluster.ctl("stop", code=1)
    assert "default" in said and "other" in said and "--job" in said, said
    assert "is being stopped" in cluster.ctl("stop", "default")
    for agent in agents:
        agent.expect(EXIT_STOPPED, timeout=10)
        assert "stop" in agent.our_lines()[-1], agent.output()
    cause = cluster.ctl_json("status", "--job", "default")["runs"][0]["outcome"]["cause"]
    assert cause["kind"] == "stopped_by_user", cause
    assert "already" in cluster.ctl("stop", "default", code=1)
    assert cluster.phase("other") == "running"
    (cluster.folder / "go").touch()
    for agent in other:
        agent.expect(0)


CHANGE_SOMETHING = ("stop", "restart", "fence", "drain", "undrain")


def placed(ranks):
    """The ranks without what their processes do at the moment."""
    return [[rank[key] for key in ("rank", "node_id", "state", "pid", "address")] for job in ranks["jobs"]
            for rank in job["ranks"]]


def test_every_other_word_leaves_the_only_job_alone(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster, UNTIL_GO)
    before = cluster.ctl_json("ranks")
    # A setting comes first: ms-ctl takes `certs` for a program of its own only as the first word.
    said = cluster.ctl("certs", code=2)
    assert "this word must come first" in said, said
    words = re.findall(r"^  ([a-z]+)\b", cluster.ctl("--help"), re.MULTILINE)
    assert set(CHANGE_SOMETHING) < set(words) and len(words) >= 15, words
    for word in words:
        if word in CHANGE_SOMETHING:
            continue
        for more in ([], ["default"]):
            program = cluster.start("ctl-%s-%d" % (word, len(more)),
                                    [BIN / "ms-ctl", *cluster.agent_words(), word, *more])
            if word == "watch":
                program.expect_said("job default, run 1: running|default/1")
                program.popen.kill()
            program.wait(20)
    assert placed(cluster.ctl_json("ranks")) == placed(before)
    assert cluster.phase() == "running"
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)


def test_the_job_of_another_scheduler_at_the_same_port_is_left_alone(cluster):
    """ms-ctl finds the scheduler's socket by the port alone."""
    cluster.start_scheduler()
    agents = start_job(cluster, UNTIL_GO)
    port = cluster.scheduler.port
    other = cluster.start_scheduler("--admin_socket", cluster.runtime / "other.sock", "--journal_path", "memory",
                                    name="other", host="127.0.0.2", port=port)
    for job in ([], ["default"]):
        said = cluster.ctl("stop", *job, "--sched_host", "127.0.0.2", code=1)
        assert ("there is no job" in said) if not job else ("is not the one that serves the socket" in said), said
        said = cluster.ctl("stop", *job, "--sched_host", "192.0.2.7", "--timeout", 1, code=10)
        assert "192.0.2.7" in said, said
    assert cluster.phase() == "running"
    said = cluster.ctl("stop", "none", "--sched_host", "127.0.0.2", "--admin_socket", cluster.runtime / "other.sock",
                       scheduler=other, code=1)
    assert "no job none" in said, said
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)


def test_an_empty_word_is_not_the_only_job(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster, UNTIL_GO)
    for words in (["stop", ""], ["restart", ""], ["--job", "", "stop"], ["stop", "--job="], ["stop", "a", "--job", "b"]):
        said = cluster.ctl(*words, code=2)
        assert "empty" in said or "name two jobs" in said, said
    assert cluster.phase() == "running"
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)


def test_stop_works_only_over_the_socket_of_the_schedulers_user(cluster):
    cluster.start_scheduler()
    path = pathlib.Path(cluster.scheduler.expect_said(r"admin socket: ([^),\s]+)").group(1))
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    said = cluster.ctl("stop", "default", "--admin_socket", "/nonexistent", code=10)
    assert "/nonexistent" in said and "--admin_socket" in said, said


def test_a_socket_in_a_folder_that_others_can_write_to_is_not_made(cluster):
    folder = cluster.runtime / "open"
    folder.mkdir()
    folder.chmod(0o777)
    scheduler = cluster.start("refused", [BIN / "ms-scheduler", "--sched_host", "127.0.0.1", "--sched_port", 0,
                                          "--admin_socket", folder / "admin.sock"])
    scheduler.expect(2)
    assert "others can write to its folder" in scheduler.output(), scheduler.output()
    assert "chmod go-w %s" % folder in scheduler.output(), scheduler.output()
    assert not list(folder.iterdir())
    folder.chmod(0o1777)
    cluster.start_scheduler("--admin_socket", folder / "admin.sock")
    assert (folder / "admin.sock").stat().st_mode & 0o777 == 0o600


def test_watch_prints_events_and_ends_with_the_job(cluster):
    cluster.start_scheduler()
    watch = start_watch(cluster, "watch")
    watch.expect_said("no job yet")
    agents = start_job(cluster, UNTIL_GO)
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)
    watch.expect(0, timeout=10)
    assert "\x1b" not in watch.output()
    assert re.search(r"default/1  ", watch.output()), watch.output()
    assert re.search(r"^job default, run 1: succeeded", watch.output(), re.MULTILINE), watch.output()


def test_watch_of_a_failing_job_ends_with_1(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster, ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done; exit 4"])
    watch = start_watch(cluster, "watch")
    as_json = start_watch(cluster, "watch-json", "--json")
    watch.expect_said("default/1")
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.wait(10)
    watch.expect(1, timeout=10)
    assert "code 4" in watch.output(), watch.output()
    as_json.expect(1, timeout=10)
    documents = [json.loads(line) for line in as_json.lines()]
    assert documents[-1]["run"]["phase"] == "failed" and "event" in documents[0]


def test_plain_watch_redraws_on_a_terminal(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster, UNTIL_GO)
    master, slave = pty.openpty()
    words = [str(word) for word in [BIN / "ms-ctl", "watch", "--plain", *cluster.agent_words()]]
    watch = subprocess.Popen(words, env=cluster.env, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    os.set_blocking(master, False)

    def look(wanted):
        nonlocal shown
        try:
            shown += os.read(master, 65536)
        except (BlockingIOError, OSError):
            pass
        return wanted in shown
    eventually(lambda: look(b"\x1b[J"), 10, "the block is redrawn")
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)
    eventually(lambda: look(b"succeeded"), 10, "the end is shown")
    assert watch.wait(10) == 0
    os.close(master)


@pytest.mark.xdist_group("port 8118")
@pytest.mark.xdist_group("port 8118")  # its socket is in a folder that all network namespaces share
def test_no_answer_is_reported_with_what_to_check(cluster, network):
    machine = network.machine()
    done = subprocess.run(["ip", "netns", "exec", machine.name, BIN / "ms-ctl", "status", "--sched_port", "8118"],
                          env=cluster.env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
    assert done.returncode == 10
    assert "127.0.0.1:8118" in done.stderr and "MS_SCHED_HOST" in done.stderr, done.stderr


def test_usage(cluster):
    def run(*words):
        done = subprocess.run([BIN / "ms-ctl", *words], env=cluster.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=20)
        return done.returncode, done.stdout + done.stderr
    code, said = run("statsu")
    assert code == 2 and "'status'" in said, said
    code, said = run("counters", "extra")
    assert code == 2 and "takes no argument" in said, said
    code, said = run("status", "one", "two")
    assert code == 2 and "there is also 'two'" in said, said
    code, said = run("--no-such-flag")
    assert code == 2 and "no-such-flag" in said.replace("_", "-"), said
    code, said = run("--help")
    assert code == 0
    for word in ("status", "nodes", "ranks", "events", "watch", "stop", "--json", "MS_SCHED_HOST"):
        assert word in said, said
    code, said = run("help", "logs")
    assert code == 0 and said.startswith("Usage: ms-ctl logs ") and "--follow" in said and "--missing" not in said, said
    assert run("logs", "3", "--help") == (0, said)
    code, said = run("lgos", "--help")
    assert code == 2 and "'logs'" in said, said
    code, said = run("convert", "--help")
    assert code == 0 and said.startswith("Usage: ms-ctl convert LINE\n"), said
    code, said = run("completion", "bash")
    assert code == 0
    subprocess.run(["bash", "-n"], input=said, text=True, check=True, timeout=10)


def test_stop_asks_where_the_job_was_not_named(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster, ["sleep", "1000"])
    said = cluster.ctl("stop", code=1)
    assert "you did not name it" in said and "--yes" in said and cluster.phase() == "running", said

    def answer(word):
        ours, theirs = pty.openpty()
        asked = subprocess.Popen([str(BIN / "ms-ctl"), *map(str, cluster.agent_words()), "stop"], env=cluster.env,
                                 stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        os.close(theirs)
        os.write(ours, word)
        said, _ = asked.communicate(timeout=20)
        os.close(ours)
        return asked.returncode, said

    code, said = answer(b"n\n")
    assert code == 1 and "Stop job default, run 1, opened by" in said and "goes on" in said, said
    assert cluster.phase() == "running"
    code, said = answer(b"y\n")
    assert code == 0 and "is being stopped" in said, said
    for agent in agents:
        agent.expect(EXIT_STOPPED, timeout=10)


def test_a_job_belongs_to_the_user_who_opened_it(cluster):
    cluster.start_scheduler()
    as_other = ["unshare", "--user", "--map-user=65534", str(BIN / "ms-worker")]
    words = ["--worker_num", 2, "--node_id"]
    first = cluster.start_agent("first", [*words, 0], ["true"])
    first.expect_said("1 of 2 workers")
    stranger = cluster.start("stranger", [*as_other, *cluster.agent_words(), *words, 1, "--", "true"])
    stranger.expect(EXIT_REFUSED)
    said = stranger.output()
    assert "belongs to user" in said and "nobody" in said and "--shared_job" in said and "--job_id" in said, said
    shares = cluster.start("shares", [*as_other, *cluster.agent_words(), *words, 1, "--shared_job", "--", "true"])
    shares.expect(0)
    first.expect(0)


def test_the_schedulers_environment_is_a_default(cluster):
    cluster.env["MS_WORKER_NUM"] = "2"
    cluster.start_scheduler()
    del cluster.env["MS_WORKER_NUM"]
    alone = cluster.start_agent("alone", ["--job_id", "one", "--worker_num", 1], ["true"])
    alone.expect(0)
    pair = [cluster.start_agent("pair%d" % i, ["--job_id", "pair", "--node_id", i], ["true"]) for i in range(2)]
    for agent in pair:
        agent.expect(0)


def test_the_schedulers_flag_is_a_rule(cluster):
    cluster.start_scheduler("--worker_num", 2)
    agent = cluster.start_agent("a", ["--worker_num", 1], ["true"])
    agent.expect(EXIT_REFUSED)
    assert "2 as set by the scheduler (--worker_num)" in agent.output(), agent.output()
