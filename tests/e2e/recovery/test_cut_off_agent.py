"""The network between one agent and the scheduler is cut or bad for a while, with recovery on. Afterwards the job goes
on or has recovered, and at no moment did a rank live twice. The test judges by the processes' own notes (holder.py).

MUSTER_LONG=1 runs the whole matrix, otherwise a part of it.
"""

import collections
import os
import time

import pytest

import lives
from bad_cable import BadCable
from muster import EXIT_FAILED_ELSEWHERE, SLOWNESS, eventually
from resuming import seeded
from split_job import SplitJob

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
FENCE_MARGIN = 5  # by then the keeper has killed; the rest allows for clocks and a slow machine
DIRECTIONS = {"both-ways": (0, 1), "to-the-agent": (0,), "to-the-scheduler": (1,)}

# How long the network is cut, and settings under which that is short, or beyond the lease … All in seconds.
Cut = collections.namedtuple("Cut", "seconds lease grace fence")
CUTS = {
    # After a cut, TCP takes as long as the cut lasted to send lost data again, so the node may be silent for twice that
    # time.
    "short": Cut(seconds=3, lease=8, grace=3, fence=30),
    # … which would be too late here: TCP gives up after 8 s of silence, and the agent opens another connection.
    "within-the-lease": Cut(seconds=12, lease=20, grace=18, fence=44),
    "beyond-the-grace": Cut(seconds=35, lease=60, grace=3, fence=15),
    "beyond-the-lease": Cut(seconds=12, lease=4, grace=4, fence=9),
    "just-beyond-the-lease": Cut(seconds=6, lease=4, grace=4, fence=9),
}
ENDURED = ("short", "within-the-lease")  # nothing happens after these
MATRIX = [(directions, cut, has_spare) for cut in list(CUTS)[:4] for directions in DIRECTIONS
          for has_spare in (False, True)]
SHARE = [("both-ways", "short", True), ("both-ways", "within-the-lease", False),
         ("to-the-agent", "just-beyond-the-lease", False),
         ("to-the-scheduler", "beyond-the-lease", True)]


# Loss and delay; `fence` None: no spare stands by.
Bad = collections.namedtuple("Bad", "seconds lease grace fence")
BAD = [Bad(120, 30, 10, None), Bad(120, 30, 10, 40), Bad(60, 10, 5, 12)] if IS_LONG else [Bad(12, 10, 5, 12)]
SETTLED = 60  # seconds from the repair until the check


@pytest.fixture
def split(cluster, network):
    """Makes a job with the timeouts of a Cut or Bad, and with n1 at the end of a bad cable."""
    cables = []

    def make(timeouts, *scheduler_words):
        near, far = network.machine(), network.machine()
        cables.append(BadCable(near, far, seed=seeded().randrange(1 << 32)))
        fence = ["--fence_timeout", timeouts.fence] if timeouts.fence is not None else []
        job = SplitJob(cluster, near, far, "--node_timeout", timeouts.lease, "--disconnect_grace", timeouts.grace,
                       *fence, *scheduler_words)
        job.cable = cables[0]
        return job
    yield make
    for cable in cables:
        cable.close()


SAME = {0: "n0", 1: "n0", 2: "n1", 3: "n1"}
STOOD_IN = {0: "n0", 1: "n0", 2: "stand-in", 3: "stand-in"}


@pytest.mark.parametrize("directions,name,has_spare", MATRIX if IS_LONG else SHARE, ids=lambda value: (
    value if isinstance(value, str) else "spare" if value else "alone"))
def test_a_cut(split, measured, directions, name, has_spare):
    cut = CUTS[name] if has_spare else CUTS[name]._replace(fence=None)
    job = split(cut).start(has_spare)
    pids, agents = job.pids(), dict(job.nodes)
    begin = time.monotonic()
    job.cable.cut(*DIRECTIONS[directions])
    if name not in ENDURED and has_spare:
        job.wait_for_round(2, timeout=cut.seconds)
        measured("from the cut until the spare runs", time.monotonic() - begin, at_most=cut.seconds)
    time.sleep(max(0, begin + cut.seconds - time.monotonic()))
    job.cable.heal()
    healed = time.monotonic()
    if name in ENDURED:
        time.sleep(max(0, begin + (cut.lease + cut.grace) * SLOWNESS - time.monotonic()))
        assert (job.status()["round"], job.status()["phase"], job.pids()) == (1, "running", pids)
    elif has_spare:
        # It learns that its ranks are elsewhere; the same command makes it a spare.
        job.nodes["n1"].expect(EXIT_FAILED_ELSEWHERE)
        measured("from healing until the stale agent ends", time.monotonic() - healed, at_most=20)
        assert job.holders() == STOOD_IN
        job.start_node("n1")
        job.wait_for_a_spare()
        assert job.status()["round"] == 2
    else:
        job.wait_for_round(2)
        measured("from healing until the job runs again", time.monotonic() - healed, at_most=20)
        assert job.holders() == SAME and job.nodes == agents
    found = job.expect_good_end()
    if name not in ENDURED and has_spare:
        assert lives.closest(found) >= FENCE_MARGIN - 1


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: "%d-s-with-a-lease-of-%d-s-%s" % (
    bad.seconds, bad.lease, "alone" if bad.fence is None else "and-a-fence-of-%d-s" % bad.fence))
def test_a_bad_network(split, measured, bad):
    job = split(bad, "--max_restarts", 100).start(bad.fence is not None)
    good = job.cable.sent  # none of the cable's frames was lost
    job.cable.spoil(loss=0.3, delay=0.075, jitter=0.05)
    time.sleep(bad.seconds)  # the scheduler decides by itself in the meantime
    sent, lost = job.cable.sent - good, job.cable.lost
    job.cable.heal()
    healed = time.monotonic()
    eventually(job.is_whole, SETTLED, "the job runs again")
    print("%d of %d frames lost; whole %.1f s after healing" % (lost, sent, time.monotonic() - healed))
    assert lost > 0.1 * sent
    time.sleep(max(0, healed + SETTLED - time.monotonic()) if IS_LONG else 3)
    assert job.is_whole()
    if job.holders() == STOOD_IN:
        job.nodes.pop("n1").expect(EXIT_FAILED_ELSEWHERE)
    else:
        assert job.holders() == SAME and job.nodes["n1"].is_running()
    print("%d restarts, node_lost %d times" % (job.status()["restart_count"], len(job.events("node_lost"))))
    job.expect_good_end()


def test_the_notes_show_when_a_rank_lives_twice(split):
    """Checks the basis of the other tests: a person confirms, wrongly, that the processes of a node have ended."""
    job = split(Cut(seconds=None, lease=3, grace=3, fence=None)).start(has_spare=True)
    job.cable.cut()
    eventually(lambda: job.events("node_lost"), 10, "n1 is lost")
    job.cluster.ctl("fence", "n1")
    job.wait_for_round(2)
    eventually(lambda: len(lives.read(job.notes)) == 8, 10, "the second round's processes note that they live")
    time.sleep(0.5)
    found = lives.faults(lives.read(job.notes))
    assert len(found) == 2 and all("lived at once" in fault for fault in found), found
    assert "rank=2" in found[0] and "rank=3" in found[1], found


def test_what_runs_beside_its_successor_is_killed_at_once(split):
    """A person has confirmed the end of processes that live. Once their agent learns that its ranks are elsewhere, it
    kills them at once, without the time of --stop_timeout."""
    job = split(Cut(seconds=None, lease=3, grace=3, fence=None))
    job.node_words = ["--stop_timeout", 4]
    job.start(has_spare=True)
    job.cable.cut()
    eventually(lambda: job.events("node_lost"), 10, "n1 is lost")
    job.cluster.ctl("fence", "n1")
    job.wait_for_round(2)
    job.cable.heal()
    job.nodes.pop("n1").expect(EXIT_FAILED_ELSEWHERE)
    job.let_go()
    job.expect_success()
    found = [life for life in lives.read(job.notes) if life.node == "n1"]
    obedient, killed = (life.last for life in sorted(found, key=lambda life: life.rank))
    assert abs(killed - obedient) < 1, "the one that ignores SIGTERM outlived the other by %.1f s" % (killed - obedient)


def test_a_network_that_refuses_instead_of_being_silent(split):
    """The network refuses, like a firewall that rejects, or a service address without a server."""
    job = split(Cut(seconds=None, lease=6, grace=6, fence=12)).start(has_spare=True)
    job.far.ip("addr", "add", job.near.address + "/32", "dev", "lo")  # where no program listens
    job.cable.cut()
    job.wait_for_round(2)
    time.sleep(2)
    found = lives.faults(lives.read(job.notes))
    assert not found, "\n".join(found)
