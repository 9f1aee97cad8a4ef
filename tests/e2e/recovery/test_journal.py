"""The scheduler dies and comes back with its journal: processes run on, nothing changes, and everything ends well."""

import os
import re
import signal
import subprocess
import time

import pytest

from muster import BIN, eventually, free_port, kill_now, no_warnings

UNTIL_GO = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]


class Restartable:
    """Schedulers one after the other on one port, with one journal."""

    def __init__(self, cluster, *words):
        self.cluster, self.words, self.port, self.lives = cluster, words, free_port(), 0
        self.journal = cluster.folder / "state" / "journal.db"

    def start(self):
        self.lives += 1
        self.cluster.scheduler = None
        return self.cluster.start_scheduler("--journal_path", self.journal, *self.words, port=self.port,
                                            name="scheduler%d" % self.lives)


def placement(ranks):
    return sorted((rank["rank"], rank["node_id"], rank["pid"]) for rank in ranks)


def start_job(cluster, restartable, *words):
    scheduler = restartable.start()
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--node_id", "n%d" % i,
                                                  *words], UNTIL_GO) for i in range(2)]
    return scheduler, agents, placement(cluster.wait_until_running(4))


def wait_until_all_are_back(cluster, count=2):
    def states():
        return [node["state"] for job in cluster.ctl_json("nodes")["jobs"] for node in job["nodes"]]
    eventually(lambda: states() == ["connected"] * count, 30, "all nodes are connected again")


def finish(cluster, agents):
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)
    assert cluster.phase() == "succeeded"


def test_a_killed_scheduler_comes_back_and_nothing_has_changed(cluster, measured):
    restartable = Restartable(cluster, "--worker_num", 4)
    scheduler, agents, before = start_job(cluster, restartable)
    status = cluster.ctl_json("status")
    killed = kill_now(scheduler.pid)
    scheduler.wait(5)
    second = restartable.start()
    measured("from the kill to a scheduler that listens", time.monotonic() - killed, at_most=3)
    assert re.search(r"recovered 1 job with 1 run from \d+ records of \S+ in \d+ ms", second.output()), second.output()
    wait_until_all_are_back(cluster)
    measured("from the kill to all agents being back", time.monotonic() - killed, at_most=15)
    assert placement(cluster.wait_until_running(4)) == before
    after = cluster.ctl_json("status")
    assert after["cluster_id"] == status["cluster_id"] and after["term"] == status["term"] + 1
    assert (after["runs"][0]["run"], after["runs"][0]["round"]) == (1, 1)
    finish(cluster, agents)
    no_warnings(second)


def test_sigterm_leaves_a_job_running_that_the_next_scheduler_knows(cluster):
    restartable = Restartable(cluster)
    scheduler, agents, before = start_job(cluster, restartable)
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0, timeout=10)
    assert all(agent.is_running() for agent in agents)
    restartable.start()
    wait_until_all_are_back(cluster)
    assert placement(cluster.wait_until_running(4)) == before
    finish(cluster, agents)


def test_a_process_that_ends_while_the_scheduler_is_down_is_reported_later(cluster):
    restartable = Restartable(cluster)
    scheduler, agents, _ = start_job(cluster, restartable)
    kill_now(scheduler.pid)
    scheduler.wait(5)
    (cluster.folder / "go").touch()
    time.sleep(0.5)
    restartable.start()
    for agent in agents:
        agent.expect(0)
    assert cluster.phase() == "succeeded"


def test_ten_kills_in_a_row(cluster):
    restartable = Restartable(cluster)
    scheduler, agents, before = start_job(cluster, restartable)
    for i in range(10):
        time.sleep(0.1 * i)
        kill_now(scheduler.pid)
        scheduler.wait(5)
        scheduler = restartable.start()
    wait_until_all_are_back(cluster)
    assert placement(cluster.wait_until_running(4)) == before
    finish(cluster, agents)
    assert cluster.ctl_json("status")["term"] == 11


def test_a_journal_that_is_removed_is_written_again_before_anybody_is_answered(cluster):
    restartable = Restartable(cluster)
    scheduler, agents, _ = start_job(cluster, restartable, "--enable_recovery")
    for file in restartable.journal.parent.glob("journal.db*"):
        file.unlink()
    cluster.ctl("restart", "default", "--yes")  # acknowledged, so it is durable
    kill_now(scheduler.pid)
    scheduler.wait(5)
    assert "was removed while ms-scheduler was writing it" in scheduler.output(), scheduler.output()
    restartable.start()
    eventually(lambda: (cluster.phase(), cluster.ctl_json("status")["runs"][0]["round"]) == ("running", 2), 30,
               "round 2 runs, which the journal knows of")
    cluster.wait_until_running(4)
    finish(cluster, agents)


def test_a_second_scheduler_on_the_same_journal_is_refused(cluster):
    restartable = Restartable(cluster)
    first = restartable.start()
    second = cluster.start("second", [BIN / "ms-scheduler", "--sched_port", 0, "--journal_path", restartable.journal])
    second.expect(2, timeout=10)
    assert re.search(r"held by another process \(pid %d on \S+, according to" % first.pid, second.output()), second.output()
    assert first.is_running()


def test_the_default_journal_is_the_ports_own(cluster):
    first, second = free_port(), free_port()
    for port in (first, second):
        scheduler = cluster.start_scheduler(port=port, name="scheduler-%d" % port)
        path = "%s/muster/journal-%d.db" % (cluster.env["XDG_STATE_HOME"], port)
        assert "journal: %s" % path in scheduler.output() and os.path.exists(path), scheduler.output()
    quick = cluster.start_scheduler("--once", name="once")
    assert "journal: memory" in quick.output(), quick.output()
    no_warnings(quick)
    unnamed = cluster.start_scheduler(name="unnamed")
    assert "journal: memory" in unnamed.output() and "--journal_path" in unnamed.output(), unnamed.output()


def test_a_damaged_journal_is_refused_with_the_remedy(cluster):
    restartable = Restartable(cluster)
    restartable.start().send(signal.SIGTERM)
    cluster.scheduler.expect(0)
    content = bytearray(restartable.journal.read_bytes())
    for page in range(0, len(content), 4096):  # the content of a page begins at its end
        content[page + 4095] ^= 1
    restartable.journal.write_bytes(content)
    broken = cluster.start("broken", [BIN / "ms-scheduler", "--sched_port", restartable.port, "--journal_path",
                                      restartable.journal])
    broken.expect(2, timeout=10)
    assert str(restartable.journal) in broken.output() and "is damaged" in broken.output(), broken.output()
    for suffix in ("", "-wal", ".owner"):  # as the message advises
        if os.path.exists("%s%s" % (restartable.journal, suffix)):
            os.rename("%s%s" % (restartable.journal, suffix), "%s%s.aside" % (restartable.journal, suffix))
    restartable.start()


@pytest.fixture
def small_disk(cluster):
    """Returns a command that gives a program a disk of its own of 2 MiB at the folder, and the folder."""
    folder = cluster.folder / "disk"
    folder.mkdir()
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c",
               'mount -t tmpfs -o size=2m,mode=700 muster "$0" && exec "$@"', str(folder)]
    if subprocess.run(command + ["true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no file system can be mounted here")
    return command, folder


def test_a_full_disk_turns_newcomers_away_and_mends_by_itself(cluster, small_disk):
    command, folder = small_disk
    scheduler = cluster.start("scheduler", [*command, BIN / "ms-scheduler", "--sched_port", free_port(),
                                            "--journal_path", folder / "journal.db", "--heartbeat_interval", "0.2",
                                            "--node_timeout", "3"])
    match = scheduler.expect_said(r"listening on (\S+):(\d+)", timeout=20)
    scheduler.host, scheduler.port = match.group(1), int(match.group(2))
    cluster.scheduler = scheduler
    agents = cluster.start_agents(2, ["--worker_num", 2], UNTIL_GO)
    before = placement(cluster.wait_until_running(2))
    ballast = "/proc/%d/root%s/ballast" % (scheduler.pid, folder)
    with open(ballast, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    first = cluster.start_agent("first", ["--job_id", "late", "--worker_num", 2], ["true"])
    scheduler.expect_said(r"ERROR ms-scheduler: the disk under the journal \S+ is full")
    second = cluster.start_agent("second", ["--job_id", "late", "--worker_num", 2], ["true"])
    second.expect_said("is full")
    time.sleep(5)  # longer than the lease
    assert all(agent.is_running() for agent in agents + [first, second]), cluster.describe()
    assert len(scheduler.our_lines()) < 20, scheduler.output()
    os.unlink(ballast)
    scheduler.expect_said(r"has room again, after \d")
    first.expect(0)
    second.expect(0)
    assert placement(cluster.wait_until_running(2)) == before
    finish(cluster, agents)


def test_a_scheduler_with_ten_thousand_nodes_is_ready_within_a_second(cluster, measured):
    restartable = Restartable(cluster)
    restartable.journal.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([BIN / "large_journal", restartable.journal, "10000", "8"], check=True)
    begin = time.monotonic()
    scheduler = restartable.start()
    measured("from the start to listening, with 10,000 nodes of 8 workers in the journal", time.monotonic() - begin,
             at_most=1)
    run = cluster.ctl_json("status")["runs"][0]
    assert (run["phase"], run["nodes_disconnected"], run["processes_running"]) == ("running", 10000, 80000), run
    print(re.search(r"recovered 1 job .* in \d+ ms", scheduler.output()).group(0))
