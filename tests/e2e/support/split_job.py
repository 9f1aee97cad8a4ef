"""A job on two machines, with processes that note when they lived (holder.py)."""

import functools
import sys
import time

import lives
from muster import SCRIPTS, eventually
from resuming import Lines

HOLDER = SCRIPTS / "holder.py"
STOP_TIMEOUT = 1


class SplitJob(Lines):
    """Runs the scheduler, all nodes except n1, and the spare on the machine `near`, and n1 on `far`. Each node has two
    ranks, one of which ignores SIGTERM."""

    def __init__(self, cluster, near, far, *scheduler_words, nodes=2):
        self.near, self.far, self.notes = near, far, cluster.folder / "lives"
        self.notes.mkdir()
        cluster.ctl = functools.partial(cluster.ctl, netns=near.name)
        super().__init__(cluster, [sys.executable, "-S", HOLDER, self.notes, "--ignore_sigterm"], nodes=nodes,
                         scheduler_words=["--heartbeat_interval", 0.5, "--stop_timeout", STOP_TIMEOUT,
                                          *scheduler_words],
                         node_words=["--stop_timeout", STOP_TIMEOUT])

    def start_node(self, node, *more):
        return super().start_node(node, *more, netns=(self.far if node == "n1" else self.near).name)

    def start_scheduler(self):
        return super().start_scheduler(host=self.near.address, netns=self.near.name)

    def start(self, has_spare):
        self.start_scheduler()
        for i in range(self.world_size // self.slots):
            self.start_node("n%d" % i)
        self.cluster.wait_until_running(self.world_size, timeout=60)
        if has_spare:
            self.start_node("stand-in", "--spare")
            self.wait_for_a_spare()
        eventually(lambda: len(lives.read(self.notes)) == self.world_size, 10, "every process notes that it lives")
        time.sleep(1)  # by now every agent has learnt whether its fence is armed
        return self

    def wait_for_a_spare(self):
        eventually(lambda: self.status()["spares"] == 1, 10, "a spare stands by")

    def is_whole(self):
        """Every rank runs, on nodes that send heartbeats."""
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
        """Fails unless all agents in `nodes` end with 0 and no rank lived twice. Returns the lives of all processes."""
        self.let_go()
        self.expect_success()
        found = lives.read(self.notes)
        assert not lives.faults(found), "\n".join(lives.faults(found))
        last = max(life.round for life in found)
        assert sorted(life.rank for life in found if life.round == last) == list(range(self.world_size)), found
        print("%d lives in %d rounds; between a holder's end and its successor's start elsewhere: %s" % (
            len(found), last, lives.closest(found)))
        return found
