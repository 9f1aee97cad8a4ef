"""The file system of --log_dir hangs. Deaths are still noticed, the fence is kept, and agents end."""

import os
import re
import signal
import time

import pytest

import processes
from frozen import Disk
from muster import EXIT_FAILED_ELSEWHERE, eventually, kill_now
from test_cut_off_agent import STOOD_IN, Cut, split  # noqa: F401 (a fixture)

CHATTER = ["sh", "-c", "i=0; while :; do echo line $i; i=$((i+1)); sleep 0.01; done"]


@pytest.fixture
def disk(tmp_path):
    made = Disk(tmp_path)
    yield made
    made.close()


def numbers(path):
    found = [re.fullmatch(r"line (\d+)", line) for line in path.read_text().splitlines()]
    assert all(found), path.read_text()[-2000:]
    return [int(match.group(1)) for match in found]


def start(cluster, disk, *words):
    scheduler = cluster.start_scheduler("--worker_num", 2)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2, "--node_id", "n%d" % i, *words, *(
        ["--log_dir", disk.path / "logs"] if i == 0 else [])], CHATTER) for i in range(2)]
    ranks = cluster.wait_until_running(2, timeout=60)
    log = disk.path / "logs" / "worker_0.log"
    eventually(lambda: log.exists() and log.stat().st_size > 0, 10, "rank 0 writes its log")
    return scheduler, agents, ranks, log


def test_a_death_is_noticed_and_the_agents_end(cluster, disk, measured):
    scheduler, agents, ranks, _ = start(cluster, disk)
    disk.freeze()
    time.sleep(0.5)  # by now all that write there hang
    killed = kill_now(next(rank["pid"] for rank in ranks if rank["rank"] == 0))
    eventually(lambda: cluster.phase() == "failed", 20, "the job has failed")
    measured("from the kill to the failure's report with frozen logs", time.monotonic() - killed, at_most=2)
    cause = cluster.ctl_json("status")["runs"][0]["outcome"]["cause"]
    assert (cause["rank"], cause["signal"]) == (0, 9) and cause["last_lines"][-1].startswith("line "), cause
    agents[1].expect(EXIT_FAILED_ELSEWHERE)
    agents[0].expect(128 + 9)
    measured("from the kill to the end of the agent with frozen logs", time.monotonic() - killed, at_most=12)
    agents[0].expect_said(r"bytes of output were not written to \S+worker_0.log: its file system has not answered")
    agents[0].expect_said(r"failure.json was not written: its file system has not answered")
    disk.thaw()
    scheduler.send(signal.SIGTERM)
    scheduler.wait(20)
    cluster.expect_nothing_left(5)


def test_after_the_thaw_every_line_is_there(cluster, disk):
    _, agents, _, log = start(cluster, disk)
    disk.freeze()
    agents[0].expect_said(r"the file system of \S+worker_0.log has not answered for 5 s", timeout=20)
    assert cluster.phase() == "running"
    time.sleep(1)
    disk.thaw()
    agents[0].expect_said("answers again")
    cluster.ctl("stop", "--yes")
    for agent in agents:
        agent.wait(20)
    found = numbers(log)
    assert found == list(range(len(found))) and len(found) > 100, "in order, without a gap"


def test_a_keeper_that_is_stopped_is_reported(cluster, disk):
    _, agents, _, _ = start(cluster, disk)
    keeper = processes.named("ms-keeper", agents[0].pid)[0].pid
    os.kill(keeper, signal.SIGSTOP)
    agents[0].expect_said(r"the keeper \(process %d\) has not answered for 5 s" % keeper, timeout=20)
    os.kill(keeper, signal.SIGCONT)
    agents[0].expect_said("the keeper answers again")
    cluster.ctl("stop", "--yes")
    for agent in agents:
        agent.wait(20)


def keep_the_fence(split, before_the_cut, after):  # noqa: F811
    cut = Cut(seconds=14, lease=4, grace=4, fence=9)
    job = split(cut)
    before_the_cut(job)
    job.cable.cut()
    job.wait_for_round(2, timeout=cut.seconds + 10)
    time.sleep(1)
    job.cable.heal()
    after(job)
    job.nodes["n1"].expect(EXIT_FAILED_ELSEWHERE)
    assert job.holders() == STOOD_IN
    job.nodes.pop("n1")
    job.expect_good_end()


def test_the_fence_is_kept_with_frozen_logs(split, disk):  # noqa: F811
    def freeze(job):
        job.logs = disk.path / "logs"
        job.command = ["sh", "-c", 'while :; do echo line; sleep 0.02; done & exec "$@"', "sh", *job.command]
        job.start(has_spare=True)
        disk.freeze()
    keep_the_fence(split, freeze, lambda job: disk.thaw())


def test_the_fence_is_kept_with_a_stopped_keeper(split):  # noqa: F811
    def stop(job):
        job.start(has_spare=True)
        os.kill(processes.named("ms-keeper", job.nodes["n1"].pid)[0].pid, signal.SIGSTOP)
    keep_the_fence(split, stop, lambda job: None)
