"""One episode: a cluster starts, faults come and are undone, the job may end, and the checks judge what was seen.

| step | limit | the violation, if it takes longer |
|---|---|---|
| formed | 60 s | (only where faults wait for it) |
| whole again after all faults are undone | SETTLE | "the job did not come back" |
| every agent has ended after `go`, or after the job has failed | END | "did not end" |
| the scheduler has ended after SIGTERM | END | "did not end" |
"""

import collections
import os
import random
import resource
import signal
import time

import beats
import checks
import faults
import limits
import muster
import processes
from cluster import NODES, SLOTS, Cluster
from lanes import LANES

SETTLE, END, LEFTOVER = 90 * muster.SLOWNESS, 40 * muster.SLOWNESS, 3

Planned = collections.namedtuple("Planned", "at kind seed")
Outcome = collections.namedtuple("Outcome", "violations summary timeline")


def plan(lane, chance):
    """Decides when each fault begins, in seconds: some at nearly the same time, some before the job has formed."""
    count = 1 if lane.way == "fail" else chance.randint(2, 5)
    at, planned = chance.choice((0.5, 3, 3, 4)) + chance.random(), []
    for _ in range(count):
        planned.append(Planned(at, chance.choice(lane.kinds), chance.randrange(1 << 32)))
        at += chance.choice((chance.uniform(0, 0.3), chance.uniform(0.5, 5), chance.uniform(1, 4)))
    return planned


class Episode:
    def __init__(self, folder, lane_name, seed, seconds=60):
        self.lane, self.chance, self.seconds = LANES[lane_name], random.Random("%s %d" % (lane_name, seed)), seconds
        self.folder = folder
        mark = "%d-%s-%d" % (os.getpid(), lane_name, seed)
        self.cluster = Cluster(folder, mark, self.lane, self.chance)
        self.violations = self.cluster.violations
        self.active = []  # (when it ends, Fault)
        self.count = 0
        self.cause = None  # the cause of a run that has failed
    

    # ------------------------------------------------------------------------------------------------------ the ways

    def run(self):
        try:
            self.cluster.prepare()
            getattr(self, "_" + self.lane.way)()
            return self._judge()
        finally:
            self._mend()
            self.cluster.close()

    def _heal(self):
        self._start_and_fault()
        self._settle()
        self._let_end(expected={0})

    _clock = _heal

    def _fail(self):
        self.cluster.start()
        self._wait(self.cluster.is_whole, 60, "the job did not form")
        self._apply(plan(self.lane, self.chance))
        if self._wait(lambda: self._phase() == "failed", END, "the job that was hurt did not fail"):
            self.cause = self.cluster.status()["outcome"]["cause"]["text"]
        self._mend()
        self._expect_ends(None)
        self._end_scheduler()

    def _starved(self):
        """Limits one node's agent to few descriptors or processes. All programs must end; nothing
        else is checked."""
        node = self.chance.choice(self.cluster.nodes)
        count, is_processes = self.chance.randint(4, 40), self.chance.random() < 0.6
        if is_processes:
            group = limits.ProcessLimit("%s-%s" % (self.cluster.mark, node.name))
            group.limit_to(count)
            node.limits = group.enter
            self.active.append((float("inf"), faults.Fault("", 0, group.close)))
        else:
            node.limits = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
        self.cluster.note("%s starts with at most %d %s" % (node.name, count,
                                                            "processes" if is_processes else "descriptors"))
        self.count = 1
        self.cluster.start()
        self.cluster.supervise(self.chance.uniform(4, 9))
        self.cluster.go()
        self._expect_ends(None)
        self._end_scheduler()

    def _many(self):
        """Runs short jobs one after the other, some of them with a fault."""
        self.cluster.restart_no_more("nodes")
        self.cluster.scheduler.start()
        self.cluster.scheduler.program.find_port()
        until = time.monotonic() + self.seconds
        while time.monotonic() < until and not self.violations:
            self.count += 1
            self.cluster.job = "job%d" % (self.count % 4)
            self.cluster.hold()
            for node in self.cluster.nodes:
                node.start()
            self._wait(self.cluster.is_whole, 60, "%s did not form" % self.cluster.job)
            if self.chance.random() < 0.5:
                self._begin(Planned(0, "kill-agent", self.chance.randrange(1 << 32)))
                self.cluster.restarts.add("nodes")
                self._settle()
            self.cluster.go()
            self._expect_ends({0})
        self._end_scheduler()

    def _rounds(self):
        """The agents stay. Each new round begins with a death, or with a command as a person would give it."""
        self.cluster.start()
        self._wait(self.cluster.is_whole, 60, "the job did not form")
        until = time.monotonic() + self.seconds
        while time.monotonic() < until and not self.violations:
            self.count += 1
            before = self._round()
            self._wait(self._ask_for_a_round, 10, "`ms-ctl restart` was refused")
            self._wait(lambda: self._round() > before and self.cluster.is_whole(), SETTLE, "no next round came")
            self.cluster.supervise(self.chance.uniform(0.2, 2))
        self._let_end(expected={0})

    # ----------------------------------------------------------------------------------------------------- their steps

    def _start_and_fault(self):
        planned = plan(self.lane, self.chance)
        self.cluster.start()
        if planned[0].at > 2:
            self._wait(self.cluster.is_whole, 60, "the job did not form")
        self._apply(planned)

    def _apply(self, planned):
        begin, left = time.monotonic(), list(planned)
        while left or self.active:
            now = time.monotonic()
            if left and now >= begin + left[0].at - planned[0].at:
                self._begin(left.pop(0))
            for end, fault in [entry for entry in self.active if entry[0] <= now]:
                self.active.remove((end, fault))
                if fault.undo is not faults.nothing:
                    self.cluster.note("over: " + fault.text)
                fault.undo()
            self.cluster.supervise(0.02)

    def _begin(self, planned):
        begun = time.monotonic()
        fault = faults.KINDS[planned.kind](self.cluster, random.Random(planned.seed))
        self.count += 1
        self.cluster.events.append((begun - self.cluster.zero, fault.text))
        self.active.append((time.monotonic() + fault.seconds, fault))

    def _mend(self):
        while self.active:
            _, fault = self.active.pop()
            fault.undo()

    def _wait(self, condition, seconds, what):
        until = time.monotonic() + seconds
        while not condition():
            if time.monotonic() >= until:
                self.violations.append("not within %.0f s: %s" % (seconds, what))
                return False
            self.cluster.supervise(0.3)
        return True

    def _ask_for_a_round(self):
        try:
            self.cluster.programs.ctl("restart")
            return True
        except AssertionError:
            return False

    def _phase(self):
        status = self.cluster.status()
        return status and status["phase"]

    def _round(self):
        status = self.cluster.status()
        return status["round"] if status else 0

    def _settle(self):
        """Undoes all faults: programs that are down start again, and the job has to come back."""
        self._mend()
        begin = time.monotonic()
        self.cluster.note("all faults are undone")
        while True:
            for member in self.cluster.members:
                if member.start_at is not None:
                    member.start_at = time.monotonic()
            if not self._wait(self.cluster.is_whole, SETTLE, "the job did not come back after all faults were undone"):
                status = self.cluster.status()
                self.violations[-1] += ": %s" % (status and {key: status.get(key) for key in ("phase", "round")})
                return
            self.cluster.note("whole again after %.1f s" % (time.monotonic() - begin))
            self.cluster.supervise(1)  # gives both holders of a rank that lives twice the time to write a beat
            if self.cluster.is_whole():
                return  # before that, some program may not have noticed the last fault

    def _let_end(self, expected):
        self.cluster.note("go")
        self.cluster.restart_no_more("nodes")
        self.cluster.go()
        self._expect_ends(expected)
        self._end_scheduler()

    def _expect_ends(self, codes):
        """Every agent must end by itself. `codes`: the only exit codes that are right; None: any."""
        self.cluster.restart_no_more("nodes")
        nodes = self.cluster.nodes
        self._wait(lambda: not any(node.is_running() for node in nodes), END, "the agents' ends")
        hanging = [node.pid() for node in nodes if node.is_running()]
        for node in nodes:
            if node.is_running():
                self.violations.append("%s did not end; its last lines:\n%s" % (node.name, node.program.tail(8)))
            elif codes is not None and node.program.popen.returncode not in codes:
                self.violations.append("%s ended with %d; its last lines:\n%s" % (
                    node.name, node.program.popen.returncode, node.program.tail(8)))
        for pid in hanging:
            os.kill(pid, signal.SIGTERM)
        if hanging:
            self.cluster.supervise(10 * muster.SLOWNESS)
            self.violations += ["%d ignores SIGTERM" % pid for pid in hanging if processes.is_alive(pid)]

    def _end_scheduler(self):
        scheduler = self.cluster.scheduler
        self.cluster.restart_no_more("scheduler")
        if not scheduler.is_running():
            return
        scheduler.program.send(signal.SIGTERM)
        if self._wait(lambda: not scheduler.is_running(), END, "the scheduler's end after SIGTERM") and (
                scheduler.program.popen.returncode != 0):
            self.violations.append("the scheduler ended with %d; its last lines:\n%s" % (
                scheduler.program.popen.returncode, scheduler.program.tail(8)))

    # -------------------------------------------------------------------------------------------------------- judging

    def _judge(self):
        cluster, until = self.cluster, time.monotonic() + LEFTOVER * muster.SLOWNESS
        while True:
            cluster.supervise(0.1)
            left = checks.nothing_left(cluster.mark + "/", [
                process for process in processes.descendants(os.getpid()) if process.pid not in cluster.own])
            if not left or time.monotonic() >= until:
                break
        holders, assignments = beats.read(cluster.beats)
        twice = checks.no_rank_twice(holders, cluster.zero)
        found = [*twice, *checks.whole_moves(holders, assignments), *left, *checks.flat(cluster.usage.samples)]
        if self.cause is not None:
            told = {node.name: node.program.tail(25) for node in cluster.nodes
                    if node.program.popen.returncode not in (None, -signal.SIGKILL)}
            found += checks.one_cause(self.cause, told)
        violations = found + self.violations
        summary = "%.0f s, %d faults, %d rounds, %d holders of %d ranks" % (
            time.monotonic() - cluster.zero, self.count, len(assignments), len(holders), NODES * SLOTS)
        if self.lane.way in ("many", "rounds"):
            summary += "; " + cluster.usage.summary()
        if not holders and self.lane.way != "starved":
            violations.append("no training process has ever lived")
        return Outcome(violations, summary, self._timeline(holders if violations else []))

    def _timeline(self, holders):
        """The events in order, with the begin and end of those holders that overlapped."""
        zero = self.cluster.zero
        lines = list(self.cluster.events)
        for holder in {id(one): one for pair in checks.overlaps(holders) for one in pair}.values():
            name = "rank %d, %s" % (holder.rank, checks.describe(holder, zero))
            lines += [(holder.first - zero, "BEGINS: " + name), (holder.last - zero, "ENDS: " + name)]
        return "\n".join("%9.3f  %s" % line for line in sorted(lines))
