"""The network between one agent and the scheduler is cut or bad for a while, with recovery on: afterwards the job goes on
or has recovered, and at no moment did a rank live twice. That is judged by the processes' own notes (holder.py).

MUSTER_LONG=1 runs the whole matrix, else some of it.
"""

import collections
import functools
import os
import sys
import time

import pytest

import lives
from bad_cable import BadCable
from muster import EXIT_FAILED_ELSEWHERE, HERE, SLOWNESS, eventually
from resuming import Lines, seeded

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
HOLDER = HERE / "holder.py"
STOP_TIMEOUT = 2
FENCE_MARGIN = 5  # the keeper has killed by then; the rest is for clocks and a slow machine
DIRECTIONS = {"both-ways": (0, 1), "to-the-agent": (0,), "to-the-scheduler": (1,)}

# How long the network is cut, and the settings under which that is ... All in seconds.
Cut = collections.namedtuple("Cut", "seconds lease grace fence")
CUTS = {
    "short": Cut(seconds=5, lease=10, grace=3, fence=30),
    # TCP gives up after 25 s of silence, then the grace begins.
    "beyond-the-grace": Cut(seconds=35, lease=60, grace=3, fence=15),
    "beyond-the-lease": Cut(seconds=18, lease=6, grace=10, fence=12),
    "just-beyond-the-lease": Cut(seconds=9, lease=6, grace=10, fence=12),
}
MATRIX = [(directions, cut, has_spare) for cut in list(CUTS)[:3] for directions in DIRECTIONS
          for has_spare in (False, True)]
SHARE = [("both-ways", "short", True), ("to-the-agent", "just-beyond-the-lease", False),
         ("to-the-scheduler", "beyond-the-lease", True)]


# Loss and delay; `fence` None: no spare stands by.
Bad = collections.namedtuple("Bad", "seconds lease grace fence")
BAD = [Bad(120, 30, 10, None), Bad(120, 30, 10, 40), Bad(60, 10, 5, 12)] if IS_LONG else [Bad(20, 10, 5, 12)]
SETTLED = 60  # so long after healing it is judged


class SplitJob(Lines):
    """The scheduler, node n0 and the spare on one machine, n1 on another at the end of a bad cable. Two ranks each, one of
    which is deaf to SIGTERM."""

    def __init__(self, cluster, network, cut):
        self.near, self.far = network.machine(), network.machine()
        self.cable = BadCable(self.near, self.far, seed=seeded().randrange(1 << 32))
        self.notes = cluster.folder / "lives"
        self.notes.mkdir()
        cluster.ctl = functools.partial(cluster.ctl, netns=self.near.name)
        super().__init__(cluster, [sys.executable, "-S", HOLDER, self.notes, "--deaf"],
                         scheduler_words=["--heartbeat_interval", 0.5, "--node_timeout", cut.lease, "--stop_timeout",
                                          STOP_TIMEOUT, "--disconnect_grace", cut.grace],
                         node_words=["--stop_timeout", STOP_TIMEOUT])
        self.cut = cut

    def start(self, has_spare, *scheduler_words):
        if has_spare:
            self.scheduler_words += ["--fence_timeout", self.cut.fence]
        self.scheduler_words += scheduler_words
        self.start_scheduler(host=self.near.address, netns=self.near.name)
        self.start_node("n0", netns=self.near.name)
        self.start_node("n1", netns=self.far.name)
        self.cluster.wait_until_running(self.world_size, timeout=60)
        if has_spare:
            self.start_node("stand-in", "--spare", netns=self.near.name)
            eventually(lambda: self.status()["spares"] == 1, 10, "the spare stands by")
        eventually(lambda: len(lives.read(self.notes)) == self.world_size, 10, "every process notes that it lives")
        time.sleep(1)  # every agent has heard by now whether its fence is armed
        return self

    def is_whole(self):
        """Every rank runs, on nodes that are heard."""
        heard = {node["node_id"] for job in self.cluster.ctl_json("nodes")["jobs"] for node in job["nodes"]
                 if node["state"] == "connected" and node["last_seen_ms"] < 3000}
        ranks = self.ranks()
        return self.status()["phase"] == "running" and len(ranks) == self.world_size and all(
            rank["state"] == "running" and rank["node_id"] in heard for rank in ranks)

    def holders(self):
        return {rank["rank"]: rank["node_id"] for rank in self.ranks()}

    def let_go(self):
        (self.notes / "go").touch()

    def expect_good_end(self):
        """Every agent that the job still has ends well. Returns the lives of all that ran."""
        self.let_go()
        self.expect_success()
        found = lives.read(self.notes)
        assert not lives.faults(found), "\n".join(lives.faults(found))
        last = max(life.round for life in found)
        assert sorted(life.rank for life in found if life.round == last) == list(range(self.world_size)), found
        print("%d lives in %d rounds; between a holder's end and its successor's start elsewhere: %s" % (
            len(found), last, lives.closest(found)))
        return found


@pytest.fixture
def split(cluster, network):
    made = []

    def make(cut):
        made.append(SplitJob(cluster, network, cut))
        return made[0]
    yield make
    for job in made:
        job.cable.close()


SAME = {0: "n0", 1: "n0", 2: "n1", 3: "n1"}
STOOD_IN = {0: "n0", 1: "n0", 2: "stand-in", 3: "stand-in"}


@pytest.mark.parametrize("directions,name,has_spare", MATRIX if IS_LONG else SHARE, ids=lambda value: (
    value if isinstance(value, str) else "spare" if value else "alone"))
def test_a_cut(split, measured, directions, name, has_spare):
    job = split(CUTS[name]).start(has_spare)
    pids, agents = job.pids(), dict(job.nodes)
    begin = time.monotonic()
    job.cable.cut(*DIRECTIONS[directions])
    if name != "short" and has_spare:
        job.wait_for_round(2, timeout=job.cut.seconds)
        measured("from the cut until the spare runs", time.monotonic() - begin, at_most=job.cut.seconds)
    time.sleep(max(0, begin + job.cut.seconds - time.monotonic()))
    job.cable.heal()
    healed = time.monotonic()
    if name == "short":
        time.sleep(max(0, begin + (job.cut.lease + job.cut.grace) * SLOWNESS - time.monotonic()))
        assert (job.status()["round"], job.status()["phase"], job.pids()) == (1, "running", pids)
    elif has_spare:
        # Told that its ranks are elsewhere; the same line makes it a spare.
        job.nodes["n1"].expect(EXIT_FAILED_ELSEWHERE)
        measured("from healing until the stale agent ends", time.monotonic() - healed, at_most=20)
        assert job.holders() == STOOD_IN
        job.start_node("n1", netns=job.far.name)
        eventually(lambda: job.status()["spares"] == 1, 10, "the returned node is a spare")
        assert job.status()["round"] == 2
    else:
        job.wait_for_round(2)
        measured("from healing until the job runs again", time.monotonic() - healed, at_most=20)
        assert job.holders() == SAME and job.nodes == agents
    found = job.expect_good_end()
    if name != "short" and has_spare:
        assert lives.closest(found) >= FENCE_MARGIN - 1


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: "%d-s-with-a-lease-of-%d-s-%s" % (
    bad.seconds, bad.lease, "alone" if bad.fence is None else "and-a-fence-of-%d-s" % bad.fence))
def test_a_bad_network(split, measured, bad):
    job = split(bad).start(bad.fence is not None, "--max_restarts", 100)
    job.cable.spoil(loss=0.3, delay=0.075, jitter=0.05)
    time.sleep(bad.seconds)  # what is decided in between is the scheduler's affair
    print("at healing: %s" % job.status())
    job.cable.heal()
    healed = time.monotonic()
    eventually(job.is_whole, SETTLED, "the job runs again")
    print("whole %.1f s after healing" % (time.monotonic() - healed))
    time.sleep(max(0, healed + SETTLED - time.monotonic()) if IS_LONG else 3)
    assert job.is_whole()
    if job.holders() == STOOD_IN:
        job.nodes.pop("n1").expect(EXIT_FAILED_ELSEWHERE)
    else:
        assert job.holders() == SAME and job.nodes["n1"].is_running()
    print("%d restarts, node_lost %d times" % (job.status()["restart_count"], len(job.events("node_lost"))))
    job.expect_good_end()
