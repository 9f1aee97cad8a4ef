"""torchft's lighthouse: real managers (its Rust core) at the agents' gateways, and a comparison with the real
lighthouse."""

import os
import random
import re
import signal
import sys
import threading
import time

import pytest

import torchft
from muster import SCRIPTS, SLOWNESS, eventually, kill_now
from resuming import journal_words

pytestmark = pytest.mark.xdist_group("torchft")  # they unpack the same wheels

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
REPLICA = SCRIPTS / "torchft_replica.py"
QUORUM = re.compile(r"\[rank (\d+)\] step (\d+) quorum (\d+) rank (\d+) of (\d+) after ([\d.]+) s")


class Job:
    """Replicas that are ranks of one job on two agents; each of them starts again by itself."""

    def __init__(self, cluster, *words, tls=False):
        self.cluster = cluster
        self.scheduler = cluster.start_scheduler(*journal_words(cluster))
        core = torchft.library("0.2.0")
        self.agents = [cluster.start_agent(
            "agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--machine", "m%d" % i, "--lighthouse", "train",
                            "--enable_recovery", "--restart_scope", "worker", "--max_restarts", 40, *words],
            [sys.executable, REPLICA, core, "0.05"]) for i in range(2)]

    def said(self):
        return [tuple(float(word) for word in one) for agent in self.agents for one in QUORUM.findall(agent.output())]

    def await_world(self, world, ranks, after=0, timeout=30):
        """Waits until each of these ranks reports that it trains with so many; returns the seconds that the last ones
        waited."""
        def found():
            latest = {one[0]: one for one in self.said()[after:]}
            mine = [one for rank in ranks if (one := latest.get(rank)) and one[4] == world]
            return mine if len(mine) == len(ranks) else None
        return eventually(found, timeout, "ranks %s train as %d" % (ranks, world))

    def pid_of(self, rank):
        return next(one["pid"] for one in self.cluster.wait_until_running(4) if one["rank"] == rank)


def test_a_death_is_reported_and_the_others_go_on(cluster):
    job = Job(cluster)
    first = job.await_world(4, [0, 1, 2, 3])
    before = max(one[2] for one in first)
    for round_ in range(20 if IS_LONG else 2):
        rank = 3 - round_ % 4
        others = [one for one in range(4) if one != rank]
        marks = [len(agent.output()) for agent in job.agents]
        kill_now(job.pid_of(rank))

        def fresh():
            found = {}
            for agent, mark in zip(job.agents, marks):
                for one in QUORUM.findall(agent.output()[mark:]):
                    found.setdefault(int(one[0]), []).append((int(one[2]), int(one[4]), float(one[5])))
            return found
        # They train on as three, or as four again if it is back by then; none waits out its silence (5 s).
        eventually(lambda: all(any(one[0] > before for one in fresh().get(rank_, [])) for rank_ in others), 20, "they go on")
        waited = max(one[2] for rank_ in others for one in fresh()[rank_])
        assert waited < 4 * SLOWNESS, "%.1f s: %s" % (waited, fresh())
        # (It waits longer from start to start, a minute at most.)
        eventually(lambda: all(fresh().get(rank_, [(0, 0, 0)])[-1][1] == 4 for rank_ in range(4)), 90, "it is back")
        before = max(one[0] for list_ in fresh().values() for one in list_)


@pytest.mark.measures  # a member that is silent for a second has left
def test_the_number_goes_on_after_a_restart_of_the_scheduler(cluster):
    job = Job(cluster)
    job.await_world(4, [0, 1, 2, 3])
    kill_now(job.pid_of(2))
    eventually(lambda: max(one[2] for one in job.said()) >= 2, 20, "another quorum")
    time.sleep(1)
    before = max(one[2] for one in job.said())
    job.scheduler.send(signal.SIGKILL)
    job.scheduler.wait(10)
    mark = len(job.said())
    cluster.start_scheduler(*journal_words(cluster), port=job.scheduler.port, name="again")
    eventually(lambda: len(job.said()) > mark + 20, 30, "they go on")
    assert {one[2] for one in job.said()[mark:]} == {before}, "the same members keep their process group"
    kill_now(job.pid_of(1))
    eventually(lambda: max(one[2] for one in job.said()) > before, 20, "the number goes on")
    assert min(one[2] for one in job.said()[mark:]) == before


HEARTBEAT_MS, JOIN_MS, HEARD_MS, SETTLE_MS = 100, 400, 1000, 1100


class Side:
    """A lighthouse, and the managers that it has."""

    def __init__(self, core, address):
        self.core, self.address, self.replicas, self.answers = core, address, {}, {}

    def begin(self, name):
        self.replicas[name] = torchft.Replica(self.core, name, self.address, HEARTBEAT_MS)

    def ask(self, name, **words):
        replica = self.replicas[name]

        def wait():
            self.answers[name] = replica.quorum(timeout=100, **words)
        threading.Thread(target=wait, daemon=True).start()


def play(core, addresses, seed, steps):
    """Plays one random life of replicas on both lighthouses; returns the first difference, or None."""
    chance = random.Random(seed)
    sides = [Side(core, address) for address in addresses]
    places = chance.randint(2, 5)
    alive, waiting, progress, log, members, shrinking = [], [], {}, [], set(), set()
    for number in range(steps):
        # (A replica that comes again has another name, as with torchft: the real lighthouse still has a call of the
        # dead one.)
        newcomers = ["r%d-%d" % (place, number) for place in range(places)
                     if not any(name.startswith("r%d-" % place) for name in alive) and chance.random() < (0.4 if number else 0.7)]
        dead = [name for name in alive if len(alive) > 1 and chance.random() < 0.15]
        if any(name in waiting for name in dead):
            del dead[1:]
        for side in sides:
            for name in newcomers:
                side.begin(name)
            for name in dead:
                side.replicas.pop(name).end()
        alive = [name for name in alive + newcomers if name not in dead]
        waiting = [name for name in waiting if name in alive]
        time.sleep((HEARD_MS * 1.4 if dead else 3 * HEARTBEAT_MS) / 1000)  # so that dead ones are silent long enough
        asking = [name for name in alive if name not in waiting and chance.random() < 0.8]
        chance.shuffle(asking)
        shrink = chance.random() < 0.15 and all(name in members for name in waiting + asking)
        shrinking = shrinking.union(asking) if shrink else shrinking.difference(asking)
        for side in sides:
            side.answers = {}
        for name in asking:
            words = {"step": progress.get(name, 0), "shrink_only": shrink, "commit_failures": int(chance.random() < 0.1)}
            for side in sides:
                side.ask(name, **words)
            time.sleep(0.06)  # to keep this order
        waiting += asking
        deadline = time.monotonic() + SETTLE_MS / 1000
        while time.monotonic() < deadline and any(len(side.answers) < len(waiting) for side in sides):
            time.sleep(0.01)
        real, ours = (dict(side.answers) for side in sides)
        log.append("alive %s, asking %s%s\n  real %s\n  ours %s" % (alive, asking, ", only to shrink" if shrink else "", real, ours))
        if real != ours:
            return "seed %d, step %d:\n%s" % (seed, number, "\n".join(log))
        waiting = [name for name in waiting if name not in real]
        members = set(real) or members
        if any(name in shrinking and name not in members for name in waiting):
            break  # it was left out, and is a new one that wants the quorum only to shrink
        for name, answer in real.items():
            if answer is not None:
                progress[name] = answer["max_step"] + 1
    for side in sides:
        for replica in side.replicas.values():
            replica.end()
    return None


@pytest.mark.parametrize("version", ["0.2.0", "nightly"] if IS_LONG else ["0.2.0"])
@pytest.mark.measures
def test_the_same_quorums_as_the_real_one(cluster, version, record_property):
    """Random lives of replicas on both lighthouses. The test leaves out the cases in which the real one is wrong. It
    still counts a call that its replica gave up and survived. If a waiting replica dies together with another one, it
    may put that replica into a quorum after it has found the other silent (the scheduler's unit tests cover our
    behaviour). From new replicas alone that want the quorum only to shrink, it makes an empty quorum, and from then on
    no other. After a restart it begins with 1 again."""
    core = torchft.load(torchft.library(version))
    sequences, beside = (200, 4) if IS_LONG else (12, 4)
    cluster.start_scheduler()
    first = random.SystemRandom().randrange(1 << 30)
    differences, done = [], []

    def work(worker):
        for number in range(worker, sequences, beside):
            seed = first + number
            name = "life-%d" % number
            least = 1 + seed % 2
            agent = cluster.start_agent(name, ["--job_id", name, "--worker_num", 1, "--lighthouse", name, "--lighthouse_min_replicas",
                                               least, "--lighthouse_join_timeout", JOIN_MS / 1000,
                                               "--lighthouse_heartbeat_timeout", HEARD_MS / 1000],
                                        ["sh", "-c", "echo at $TORCHFT_LIGHTHOUSE; exec sleep 1000"])
            ours = agent.expect_said(r"at (http://\S+)").group(1)
            real = core.LighthouseServer(bind="127.0.0.1:0", min_replicas=least, join_timeout_ms=JOIN_MS, quorum_tick_ms=50,
                                         heartbeat_timeout_ms=HEARD_MS)
            found = play(core, [real.address(), ours], seed, steps=8)
            real.shutdown()
            agent.send(signal.SIGKILL)
            done.append(seed)
            if found is not None:
                differences.append(found)
                return
    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(beside)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    record_property("sequences", len(done))
    assert not differences, "\n\n".join(differences)
    assert len(done) == sequences
