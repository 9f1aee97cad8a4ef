"""The promises of MS_ENABLE_RECOVERY and its settings, shown with commands that only wait: a spare's speed, the end of
a job that never works, one process alone, and recovery that is off."""

import os
import re
import signal
import time

import pytest

import processes
from muster import EXIT_FAILED_ELSEWHERE, eventually, kill_now
from resuming import EXIT_GAVE_UP, Lines, journal_words

WAIT = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]


def let_go(job):
    (job.cluster.folder / "go").touch()


def wall_clock_at(monotonic):
    """Converts an instant of the monotonic clock to wall-clock time."""
    return time.time() - (time.monotonic() - monotonic)


def test_a_spare_takes_exactly_the_lost_ranks_within_a_second(cluster, measured):
    job = Lines(cluster, WAIT, nodes=3).start()
    spare = job.start_node("stand-in", "--spare")
    eventually(lambda: job.status()["spares"] == 1, 10, "the spare stands by")
    placement, pids = {rank[0]: rank[1] for rank in job.placement()}, job.pids()
    assert placement == {0: "n0", 1: "n0", 2: "n1", 3: "n1", 4: "n2", 5: "n2"}
    clock = wall_clock_at(job.kill(job.nodes["n1"]))
    job.wait_for_round(2)
    closed = job.events("round_closed")[1]
    measured("from the agent's death to the next round", closed["unix_ms"] / 1000 - clock, at_most=1)
    assert "spare stand-in took the place of node n1" in closed["text"]
    assert {rank[0]: rank[1] for rank in job.placement()} == {**placement, 2: "stand-in", 3: "stand-in"}
    assert not set(pids.values()) & set(job.pids().values()), "every process is a new one"
    # The replaced node becomes a spare in turn, and its old command is enough for that.
    returned = job.start_node("n1")
    eventually(lambda: job.status()["spares"] == 1, 10, "the returned node is a spare")
    assert {rank[0]: rank[1] for rank in job.placement()} == {**placement, 2: "stand-in", 3: "stand-in"}
    let_go(job)
    job.expect_success()
    assert job.status()["round"] == 2 and spare is job.nodes["stand-in"] and returned is job.nodes["n1"]



@pytest.mark.parametrize("named", [True, False])
def test_a_node_comes_back_before_anybody_knows_that_it_is_gone(cluster, named):
    job = Lines(cluster, WAIT, named=named).start()
    placement = job.placement()
    processes.kill_together(job.nodes["n0"].pid, "ms-keeper")  # no last report
    job.start_node("n0")
    job.wait_for_round(2)
    assert job.placement() == placement
    let_go(job)
    job.expect_success()


def test_a_second_node_is_lost_while_the_job_waits_for_the_first(cluster):
    job = Lines(cluster, WAIT).start()
    placement = job.placement()
    for lost, node in enumerate(("n0", "n1"), 1):
        job.kill(job.nodes[node])
        eventually(lambda: len(job.events("node_lost")) == lost, 5, "the loss of %s is noticed" % node)
    assert cluster.phase() == "recovering"
    for node in ("n1", "n0"):
        job.start_node(node)
    job.wait_for_round(2)
    assert job.placement() == placement and job.status()["restart_count"] == 1
    let_go(job)
    job.expect_success()


def test_why_says_what_to_do_while_a_lost_node_is_waited_for(cluster):
    job = Lines(cluster, WAIT).start()
    job.kill(job.nodes["n0"])
    eventually(lambda: job.events("node_lost"), 5, "the loss of n0 is noticed")
    host = job.ranks()[0]["host_name"]
    why = cluster.ctl("why")
    assert re.search(r"  waiting     .*node n0 \(%s\) was last seen \S+ \w+ ago; \S+ \w+ left\n" % re.escape(host), why), why
    advice = r"  what to do  start the same ms-worker line again on %s \(node n0\); or .*--spare.*`ms-ctl stop`\n"
    assert re.search(advice % re.escape(host), why), why
    assert "ms-ctl fence" not in why, "the keeper has said that the processes have ended"
    assert "(node n0)" in cluster.ctl_json("why")["runs"][0]["last_abort"]["remedy"]
    job.start_node("n0")
    job.wait_for_round(2)
    assert "what to do" not in cluster.ctl("why")
    let_go(job)
    job.expect_success()


def test_a_process_dies_while_the_scheduler_is_down(cluster):
    job = Lines(cluster, WAIT, scheduler_words=journal_words(cluster)).start()
    placement, pids = job.placement(), job.pids()
    job.kill(job.scheduler)
    kill_now(pids[3])
    job.start_scheduler()
    job.wait_for_round(2)
    assert job.placement() == placement
    assert "rank 3" in job.events("round_aborted")[0]["text"]
    let_go(job)
    job.expect_success()


@pytest.mark.parametrize("max_restarts", [2, 3])
def test_what_never_works_ends_after_the_restart_budget(cluster, max_restarts):
    job = Lines(cluster, ["sh", "-c", "echo no such luck in round $MS_ROUND; exit $((2 + MS_ROUND))"],
                scheduler_words=["--max_restarts", max_restarts], node_words=["--max_restarts", max_restarts])
    job.start_scheduler()
    for node in ("n0", "n1"):
        job.start_node(node)
    for node in job.nodes.values():
        node.expect(EXIT_GAVE_UP, 30)
    assert cluster.phase() == "failed"
    last = 2 + max_restarts + 1
    cause = job.status()["outcome"]["cause"]
    for told in [cause["text"]] + [node.our_lines()[-1] for node in job.nodes.values()]:
        assert re.search(r"gave up after %d restarts .*code %d\b.*first.*code 3\b" % (max_restarts, last), told), told
    assert cause["last_lines"] == ["no such luck in round %d" % (max_restarts + 1)], cause
    closed = [event["unix_ms"] / 1000 for event in job.events("round_closed")]
    assert len(closed) == 1 + max_restarts, closed
    gaps = [after - before for before, after in zip(closed, closed[1:])]
    print("gaps between rounds: %s" % ", ".join("%.2f s" % gap for gap in gaps))
    # The first restart comes at once, the next ones after 1 s, 2 s, …
    assert gaps[0] < 0.8
    assert all(2 ** i <= gap < 2 ** i + 0.8 for i, gap in enumerate(gaps[1:])), gaps


def test_the_budget_is_one_for_the_whole_job(cluster):
    job = Lines(cluster, WAIT, slots=1, scheduler_words=["--max_restarts", 1]).start()
    kill_now(job.pids()[0])
    job.wait_for_round(2)
    kill_now(job.pids()[1])
    for node in job.nodes.values():
        node.expect(EXIT_GAVE_UP)
        assert re.search(r"gave up after 1 restarts?\b", node.tail(10)), node.output()
        assert "rank 0" in node.tail(10) and "rank 1" in node.tail(10), node.output()


def test_restart_scope_worker_restarts_only_the_process(cluster):
    job = Lines(cluster, WAIT, node_words=["--restart_scope", "worker"],
                scheduler_words=["--restart_scope", "worker"]).start()
    before = job.pids()
    kill_now(before[2])
    eventually(lambda: [rank["state"] for rank in job.ranks()] == ["running"] * 4 and job.pids()[2] != before[2], 10,
               "rank 2 runs again")
    after = job.pids()
    assert {rank: pid for rank, pid in after.items() if rank != 2} == {
        rank: pid for rank, pid in before.items() if rank != 2}
    assert job.status()["round"] == 1
    let_go(job)
    job.expect_success()


def test_without_recovery_a_dead_agent_fails_the_job_and_the_script_starts_again(cluster):
    job = Lines(cluster, WAIT, recovers=False).start()
    job.kill(job.nodes["n0"])
    job.nodes["n1"].expect(EXIT_FAILED_ELSEWHERE)
    assert re.search(r"n0\b.*SIGKILL", job.nodes["n1"].our_lines()[-1] + job.nodes["n1"].our_lines()[-2])
    assert cluster.phase() == "failed"
    let_go(job)
    for node in ("n0", "n1"):
        job.start_node(node)
    job.expect_success()
    assert (job.status()["run"], job.status()["round"], job.status()["restart_count"]) == (2, 1, 0)
    for node in job.nodes.values():
        first = node.our_lines()[0]
        assert re.search(r"run 2\b.*run 1 failed.*n0\b.*SIGKILL", first), first


@pytest.mark.parametrize("who", ["agent", "process"])
def test_without_recovery_the_last_line_says_how_to_switch_it_on(cluster, who):
    job = Lines(cluster, WAIT, recovers=False).start()
    kill_now(job.nodes["n0"].pid if who == "agent" else job.pids()[0])
    job.nodes["n1"].expect(EXIT_FAILED_ELSEWHERE)
    assert "MS_ENABLE_RECOVERY=1" in job.nodes["n1"].our_lines()[-1], job.nodes["n1"].output()


def test_without_recovery_a_line_that_is_started_again_at_once_opens_the_next_run(cluster):
    job = Lines(cluster, WAIT, recovers=False).start()
    job.kill(job.nodes["n0"])
    job.start_node("n0")  # while run 1 still stops
    job.nodes["n1"].expect(EXIT_FAILED_ELSEWHERE)
    let_go(job)
    job.start_node("n1")
    job.expect_success()
    assert (job.status()["run"], job.status()["round"]) == (2, 1)
    assert re.search(r"run 1 failed", job.nodes["n0"].our_lines()[0]), job.nodes["n0"].output()
