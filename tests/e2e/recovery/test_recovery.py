"""MS_ENABLE_RECOVERY=1 and real training. After the death of any program at any moment, the job goes on with the same
ranks, and ends with the loss of an undisturbed run."""

import collections
import signal

import pytest

import muster
from muster import eventually, kill_now
from resuming import REPEATS, SAVED, Training, journal_words, seeded

Undisturbed = collections.namedtuple("Undisturbed", "loss longest_gap")
again_and_again = pytest.mark.parametrize("repeat", REPEATS)


@pytest.fixture(scope="module")
def undisturbed(any_torch, tmp_path_factory):
    cluster = muster.Cluster(tmp_path_factory.mktemp("undisturbed"))
    try:
        job = Training(cluster, any_torch).start()
        job.expect_success()
        assert [start.round for start in job.process_starts()] == [1] * 4
        print("undisturbed: loss %r, longest gap between steps %.1f ms" % (job.loss(), 1000 * job.longest_gap()))
        return Undisturbed(job.loss(), job.longest_gap())
    finally:
        cluster.close()


def expect_the_same_loss(job, undisturbed):
    assert abs(job.loss() - undisturbed.loss) <= 1e-6


def expect_one_restart(job, placement, undisturbed):
    """Ends the job: round 2 has the same ranks, all programs report the same, and the loss is the expected one."""
    job.wait_for_round(2)
    assert job.placement() == placement
    job.expect_success()
    assert job.placement() == placement
    starts = job.process_starts()
    assert sorted({(start.round, start.restart) for start in starts}) == [(1, 0), (2, 1)], starts
    assert sorted(start.rank for start in starts if start.round == 2) == [0, 1, 2, 3], starts
    assert job.status()["restart_count"] == 1
    expect_the_same_loss(job, undisturbed)


@again_and_again
def test_a_killed_process(cluster, any_torch, undisturbed, repeat):
    chance = seeded()
    job = Training(cluster, any_torch).start()
    placement, pids = job.placement(), job.pids()
    victim = chance.randrange(4)
    job.wait_for_a_moment(chance)
    kill_now(pids[victim])
    expect_one_restart(job, placement, undisturbed)
    assert "rank %d" % victim in job.events("round_aborted")[0]["text"]


@again_and_again
def test_a_killed_agent_whose_line_is_started_again(cluster, any_torch, undisturbed, repeat):
    chance = seeded()
    job = Training(cluster, any_torch, named=False).start()
    placement, survivor = job.placement(), job.nodes["n1"]
    job.wait_for_a_moment(chance)
    job.kill(job.nodes["n0"])
    job.start_node("n0")
    expect_one_restart(job, placement, undisturbed)
    assert job.nodes["n1"] is survivor and "round 2" in survivor.output()


def kill_and_restart_scheduler(job, *others):
    """Sends SIGKILL to it and to `others` at once, then runs the same command again."""
    for program in (job.scheduler, *others):
        kill_now(program.pid)
    for program in (job.scheduler, *others):
        program.expect(128 + signal.SIGKILL)
    job.start_scheduler()


@again_and_again
def test_a_killed_scheduler_that_comes_back(cluster, any_torch, undisturbed, measured, repeat):
    chance = seeded()
    job = Training(cluster, any_torch, scheduler_words=journal_words(cluster)).start()
    placement, pids = job.placement(), job.pids()
    job.wait_for_a_moment(chance, starting=0)
    kill_and_restart_scheduler(job)
    status = job.status()
    assert (status["phase"], status["round"], status["restart_count"]) == ("running", 1, 0), status
    assert (job.placement(), job.pids()) == (placement, pids)
    job.expect_success()
    assert {start.rank: start.pid for start in job.process_starts()} == pids
    assert len(job.process_starts()) == 4, "nothing was started again"
    measured("longest gap between two steps (undisturbed: %.1f ms)" % (1000 * undisturbed.longest_gap),
             job.longest_gap(), at_most=2 * undisturbed.longest_gap + 0.05)
    expect_the_same_loss(job, undisturbed)


@again_and_again
def test_a_scheduler_and_an_agent_killed_together(cluster, any_torch, undisturbed, repeat):
    chance = seeded()
    job = Training(cluster, any_torch, scheduler_words=journal_words(cluster)).start()
    placement, survivor = job.placement(), job.nodes["n1"]
    job.wait_for_a_moment(chance)
    kill_and_restart_scheduler(job, job.nodes["n0"])
    job.start_node("n0")
    expect_one_restart(job, placement, undisturbed)
    assert job.nodes["n1"] is survivor


def test_a_process_that_is_stopped_has_time_for_a_checkpoint(cluster, any_torch, undisturbed):
    # One epoch has 14 steps, and a checkpoint takes 1 s: only the one that the signal requests ends in between.
    job = Training(cluster, any_torch, "--checkpoint-seconds", "1", "--epochs", "2", "--stop-signals", "USR1",
                   node_words=["--stop_signal", "USR1"]).start()
    job.wait_for_step(16)
    kill_now(job.pids()[3])
    job.wait_for_round(2)
    assert "told to stop by SIGUSR1" in job.printed(0) and "SIGTERM" not in job.printed(0)
    round_one = [int(step) for number, step in SAVED.findall(job.printed(0)) if number == "1"]
    assert round_one[0] == 14 and 16 <= round_one[1] < 28, job.printed(0)
    job.expect_success()
    assert job.resumed_after(2) == round_one[1]
    aborted, closed = job.events("round_aborted")[0], job.events("round_closed")[1]
    assert closed["unix_ms"] - aborted["unix_ms"] >= 950, "the next round waits for the checkpoint"


def test_a_spare_trains_on_in_the_place_of_a_lost_node(cluster, any_torch, undisturbed):
    chance = seeded()
    job = Training(cluster, any_torch).start()
    spare = job.start_node("stand-in", "--spare")
    eventually(lambda: job.status()["spares"] == 1, 10, "the spare stands by")
    job.wait_for_a_moment(chance)
    job.kill(job.nodes.pop("n0"))
    job.wait_for_round(2)
    assert [(rank["rank"], rank["node_id"]) for rank in job.ranks()] == [
        (0, "stand-in"), (1, "stand-in"), (2, "n1"), (3, "n1")]
    job.expect_success()
    assert job.nodes["stand-in"] is spare
    expect_the_same_loss(job, undisturbed)
