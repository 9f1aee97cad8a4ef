"""Jobs that hang: where each process stands is shown, and a job that stands still is ended or restarted. Also
draining."""

import os
import signal
import sys
import time

import pytest

from muster import EXIT_FAILED_ELSEWHERE, EXIT_STOPPED, SCRIPTS, eventually
from resuming import EXIT_GAVE_UP, Lines, journal_words

SCRIPT = SCRIPTS / "step_and_hang.py"
TIMEOUT = 3


def steps(cluster, *words, recovers=True, timeout=TIMEOUT, **options):
    command = [sys.executable, SCRIPT, "--shared", cluster.folder / "shared", *words]
    limit = ["--progress_timeout", timeout] if timeout else []
    return Lines(cluster, command, scheduler_words=limit, recovers=recovers, **options)


def let_go(job):
    (job.cluster.folder / "go").touch()


def test_a_job_that_stands_still_fails_and_shows_where_each_rank_stands(cluster, measured):
    job = steps(cluster, "--rank", 3, recovers=False).start()
    eventually(lambda: job.status()["progress"], 10, "progress is shown")
    begun = time.monotonic()
    for node in job.nodes.values():
        node.expect(EXIT_FAILED_ELSEWHERE, 30)
    measured("from the first step to the end of a job that hangs at its fifth", time.monotonic() - begun,
             at_most=TIMEOUT + 8)
    cause = job.status()["outcome"]["cause"]
    assert cause["kind"] == "no_progress" and cause["rank"] == 3, cause
    assert "no progress for 3 s (--progress_timeout): rank 3 on" in cause["text"], cause
    assert "stands still at step 4, the others are ahead" in cause["text"], cause
    assert cause["last_lines"][:3] == ["ranks 0-2: barrier (step_and_hang.py:39)",
                                       "rank 3: waits_for_data_that_never_comes (step_and_hang.py:24)",
                                       "stack of rank 3, by faulthandler:"], cause
    assert any("waits_for_data_that_never_comes" in line for line in cause["last_lines"]), cause
    for node in job.nodes.values():
        assert "rank 3" in node.output() and "waits_for_data_that_never_comes" in node.output()


def test_a_hang_is_restarted_and_the_job_goes_on(cluster):
    job = steps(cluster, "--rank", 0, "--rounds", 1).start()
    job.wait_for_round(2)
    aborted = job.events("round_aborted")[0]["text"]
    assert "rank 0 on" in aborted and "stands still at step 4" in aborted, aborted
    eventually(lambda: (job.status()["progress"] or {}).get("slowest_step", 0) > 5, 10, "it gets further")
    let_go(job)
    job.expect_success()
    assert job.status()["restart_count"] == 1


def test_restarts_without_progress_use_up_the_budget_faster(cluster):
    job = steps(cluster, "--rank", 1, timeout=1).start()
    for node in job.nodes.values():
        node.expect(EXIT_GAVE_UP, 60)
    cause = job.status()["outcome"]["cause"]["text"]
    assert "gave up after 2 restarts (--max_restarts 3 an hour, and one without progress counts twice)" in cause, cause
    assert "rank 1 on" in cause


def test_status_ranks_and_stacks_show_where_processes_stand(cluster):
    job = steps(cluster, "--rank", 2, timeout=None, recovers=False).start()
    wanted = {"watched": 4, "slowest_step": 4, "fastest_step": 5, "slowest_ranks": [2]}
    eventually(lambda: wanted.items() <= (job.status()["progress"] or {}).items(), 15, "rank 2 is the slowest of all")
    assert "steps 4 to 5; slowest rank 2, without change for" in cluster.ctl("status")
    assert [rank["step"] for rank in job.ranks()] == [5, 5, 4, 5]
    assert "STEP" in cluster.ctl("ranks")
    slowest = cluster.ctl_json("stacks")["ranks"][2]
    assert slowest["rank"] == 2 and slowest["method"] == "faulthandler", slowest
    assert "waits_for_data_that_never_comes" in slowest["text"], slowest
    shown = cluster.ctl("stacks", "0,2-3")
    for rank in (0, 2, 3):
        assert "rank %d on " % rank in shown
    assert "rank 1 on " not in shown and shown.count("barrier") >= 2
    assert "there is no rank 4" in cluster.ctl("stacks", "4", code=1)
    assert "expected ranks such as" in cluster.ctl("stacks", "1,x", code=2)
    assert "there is no job x here" in cluster.ctl("stacks", "x", code=1)
    pids = job.pids()
    assert all(os.path.exists("/proc/%d" % pid) for pid in pids.values()), "looking ends no process"
    cluster.ctl("stop", "--yes", "--reason", "seen enough")
    for node in job.nodes.values():
        node.expect(EXIT_STOPPED, 30)
    assert "seen enough" in cluster.ctl("why")


def test_a_process_that_has_not_agreed_gets_no_signal(cluster):
    job = steps(cluster, "--rank", 1, "--no_stacks", timeout=None, recovers=False, nodes=1).start()
    eventually(lambda: (job.status()["progress"] or {}).get("slowest_ranks") == [1], 15, "rank 1 is the slowest")
    stack = cluster.ctl_json("stacks")["ranks"][0]
    assert stack["method"] == "kernel" and stack["text"] and "py-spy" in stack["note"], stack
    cluster.ctl("stop", "--yes")
    for node in job.nodes.values():
        node.expect(EXIT_STOPPED, 30)


def test_a_paused_scheduler_makes_no_rank_stand_still(cluster):
    job = steps(cluster).start()
    eventually(lambda: job.status()["progress"], 10, "progress is shown")
    job.scheduler.send(signal.SIGSTOP)
    time.sleep(2 * TIMEOUT)
    job.scheduler.send(signal.SIGCONT)
    time.sleep(TIMEOUT)
    assert job.status()["restart_count"] == 0 and job.status()["round"] == 1
    let_go(job)
    job.expect_success()


@pytest.mark.parametrize("has_spare", [True, False])
def test_a_drained_node_leaves_and_its_place_is_taken(cluster, has_spare):
    job = steps(cluster, nodes=3)
    job.scheduler_words += journal_words(cluster)
    job.start()
    placement = {rank[0]: rank[1] for rank in job.placement()}
    if has_spare:
        job.start_node("stand-in", "--spare")
        eventually(lambda: job.status()["spares"] == 1, 10, "the spare stands by")
    said = cluster.ctl("drain", "n1", "--reason", "new fans")
    assert ("spare stand-in can take its place" if has_spare else "no spare fits") in said, said
    assert "leaves at the next round: drained by" in cluster.ctl("nodes")
    job.kill(job.scheduler)  # it is durable
    job.start_scheduler()
    eventually(lambda: job.status()["nodes_disconnected"] == 0, 15, "all agents are back")
    cluster.ctl("restart")
    drained = job.nodes.pop("n1")
    drained.expect(EXIT_STOPPED, 20)
    assert "new fans" in drained.our_lines()[-1], drained.output()
    if not has_spare:
        job.start_node("n1")
    job.wait_for_round(2)
    taken = "stand-in" if has_spare else "n1"
    assert {rank[0]: rank[1] for rank in job.placement()} == {**placement, 2: taken, 3: taken}
    let_go(job)
    job.expect_success()
