"""A job of train_digits_resume.py. A test kills its programs and starts them again, and reads the processes'
reports."""

import collections
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

from muster import BIN, SCRIPTS, eventually, kill_now

RESUME = SCRIPTS / "train_digits_resume.py"
EXIT_GAVE_UP = 16
# With MUSTER_LONG=1 tests that involve chance run five times.
REPEATS = range(5 if os.environ.get("MUSTER_LONG") == "1" else 1)
STEPS = 8 * 14  # with the script's defaults

STARTED = re.compile(r"^rank (\d+) round (\d+) restart (\d+): pid (\d+) starts$", re.MULTILINE)
RESUMED = re.compile(r"^rank \d+ round (\d+) restart \d+: goes on after step (\d+)$", re.MULTILINE)
STEP = re.compile(r"^rank \d+ round (\d+) restart \d+: epoch \d+ step (\d+) ", re.MULTILINE)
SAVED = re.compile(r"^rank 0 round (\d+) restart \d+: checkpoint after step (\d+) written$", re.MULTILINE)
GAP = re.compile(r"longest gap between steps: ([\d.]+) ms$", re.MULTILINE)
LOSS = re.compile(r"final loss (\S+)$", re.MULTILINE)

Start = collections.namedtuple("Start", "rank round restart pid")


def journal_words(cluster):
    """The scheduler's arguments for a journal in the test's folder."""
    known = subprocess.run([BIN / "ms-scheduler", "--help-all"], env=cluster.env, stdout=subprocess.PIPE, text=True).stdout
    if "--journal_path" not in known:
        pytest.skip("this ms-scheduler has no --journal_path yet")
    return ["--journal_path", cluster.folder / "journal.db"]


def seeded():
    """A random source that can be repeated: MUSTER_SEED=<the number that a failed test printed>."""
    seed = int(os.environ.get("MUSTER_SEED") or random.SystemRandom().randrange(1 << 32))
    print("MUSTER_SEED=%d" % seed)
    return random.Random(seed)


class Lines:
    """The command lines of a job's scheduler and nodes. Each can be started again unchanged."""

    def __init__(self, cluster, command, nodes=2, slots=2, scheduler_words=(), node_words=(), named=True,
                 recovers=True):
        cluster.env["MS_ENABLE_RECOVERY"] = "1" if recovers else "0"
        self.cluster, self.command, self.slots = cluster, [str(word) for word in command], slots
        self.world_size = nodes * slots
        self.logs = pathlib.Path(cluster.folder) / "logs"
        self.scheduler_words, self.node_words, self.named = list(scheduler_words), list(node_words), named
        self.starts = collections.Counter()
        self.scheduler, self.nodes = None, {}

    def start_scheduler(self, **options):
        """On the first start the kernel chooses the port; later starts keep it. `options`: Cluster.start's."""
        port = self.scheduler.port if self.scheduler else 0
        self.starts["scheduler"] += 1
        self.scheduler = self.cluster.start_scheduler(*self.scheduler_words,
                                                      name="scheduler.%d" % self.starts["scheduler"], port=port,
                                                      **options)
        return self.scheduler

    def start_node(self, node, *more, **options):
        self.starts[node] += 1
        words = ["--worker_num", self.world_size, "--local_worker_num", self.slots, "--log_dir", self.logs,
                 *(["--node_id", node] if self.named else []), *self.node_words, *more]
        self.nodes[node] = self.cluster.start_agent("%s.%d" % (node, self.starts[node]), words, self.command, **options)
        return self.nodes[node]

    def start(self):
        self.start_scheduler()
        for i in range(self.world_size // self.slots):
            self.start_node("n%d" % i)
        self.cluster.wait_until_running(self.world_size, timeout=60)
        return self

    def status(self):
        return self.cluster.ctl_json("status")["runs"][-1]

    def ranks(self):
        return [rank for job in self.cluster.ctl_json("ranks")["jobs"] for rank in job["ranks"]]

    def placement(self):
        """Returns which node has which rank."""
        return [(rank["rank"], rank["node_id"], rank["host_name"], rank["local_rank"], rank["node_rank"])
                for rank in self.ranks()]

    def pids(self):
        return {rank["rank"]: rank["pid"] for rank in self.ranks()}

    def events(self, kind):
        return [event for event in self.cluster.ctl_json("events")["events"] if event["kind"] == kind]

    def wait_for_round(self, number, timeout=40):
        """Waits until that round (or a later one) runs, with every process started."""
        def runs():
            status = self.status()
            return status["round"] >= number and status["phase"] == "running"
        eventually(runs, timeout, "round %d runs" % number)
        return self.cluster.wait_until_running(self.world_size, timeout=timeout)

    def kill(self, program):
        """Sends SIGKILL; returns the time of it, once the program is gone."""
        killed = kill_now(program.pid)
        program.expect(128 + signal.SIGKILL)
        return killed

    def expect_success(self, timeout=60):
        for node in self.nodes.values():
            node.expect(0, timeout)
        assert self.cluster.phase() == "succeeded"


class Training(Lines):
    """Commands that train; their checkpoints are in the test's folder."""

    def __init__(self, cluster, python, *words, **options):
        self.checkpoints = pathlib.Path(cluster.folder) / "checkpoints"
        super().__init__(cluster, [python, RESUME, "--checkpoints", self.checkpoints, *words], **options)

    def printed(self, rank):
        path = self.logs / ("worker_%d.log" % rank)
        return path.read_text(errors="replace") if path.exists() else ""

    def step(self):
        """The last step that rank 0 has completed."""
        return max([int(step) for _, step in STEP.findall(self.printed(0))] or [0])

    def wait_for_step(self, step, timeout=60):
        eventually(lambda: self.step() >= step, timeout, "step %d has ended" % step)

    def wait_for_a_moment(self, chance, starting=0.2):
        """Waits for a random moment in the job's life, not near its end. `starting`: the chance that its processes
        are still starting at that moment."""
        if chance.random() < starting:
            time.sleep(chance.uniform(0, 2))
        else:
            self.wait_for_step(chance.randrange(3, STEPS - 40))
            time.sleep(chance.uniform(0, 0.03))  # somewhere within a step
        print("disturbed after step %d" % self.step())

    def process_starts(self):
        return [Start(*map(int, start)) for rank in range(self.world_size)
                for start in STARTED.findall(self.printed(rank))]

    def resumed_after(self, number):
        """The step from which rank 0 went on in that round."""
        return {int(found): int(step) for found, step in RESUMED.findall(self.printed(0))}[number]

    def longest_gap(self):
        """The longest time between two steps of any rank, in seconds."""
        return max(float(gap) for rank in range(self.world_size) for gap in GAP.findall(self.printed(rank))) / 1000

    def loss(self):
        """The final loss, which every rank has reported once."""
        losses_of_each = [LOSS.findall(self.printed(rank)) for rank in range(self.world_size)]
        assert [len(losses) for losses in losses_of_each] == [1] * self.world_size, losses_of_each
        losses = [float(losses[0]) for losses in losses_of_each]
        assert max(losses) - min(losses) <= 1e-12, losses
        return losses[0]
