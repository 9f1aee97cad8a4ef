"""Kills the scheduler with SIGKILL at its system calls, and gives it failing disks: acknowledged facts are always back.

MUSTER_LONG=1 kills at every call, which takes hours; otherwise at points spread over each kind.
"""

import collections
import contextlib
import os
import re
import shutil
import subprocess

import pytest

import muster
import processes
from muster import BIN, Scheduler, eventually

pytest.importorskip("grpc")
import facts  # noqa: E402

# The scheduler's calls that change files (and variants of pwrite64). write: logs and wake-ups in between.
POINTS = {"pwrite64": 16, "fdatasync": 8, "fsync": 3, "ftruncate": 2, "unlink": 3, "rename": 2, "write": 3}
JOBS = 60  # 80 runs, some 350 records
MANY_REPORTS = 14  # of each node: about 1,300 pages
IS_LONG = os.environ.get("MUSTER_LONG") == "1"


def can_trace():
    if shutil.which("strace") is None:
        return False
    words = ["strace", "-f", "-o", os.devnull, "-e", "inject=getpid:signal=SIGKILL:when=1", "true"]
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


pytestmark = pytest.mark.skipif(not can_trace(), reason="strace can't trace here")


class Lives:
    """Several lives of a scheduler with one journal."""

    def __init__(self, cluster, name):
        self.cluster, self.name, self.count = cluster, name, 0
        self.folder = cluster.folder / name
        self.folder.mkdir()

    def start(self, *strace):
        """Returns None if it died before it listened."""
        self.count += 1
        argv = [BIN / "ms-scheduler", "--sched_port", 0, "--journal_path", self.folder / "journal.db"]
        if strace:
            argv = ["strace", "-f", "-o", self.folder / "trace", *strace, "--", *argv]
        scheduler = self.cluster.start("%s-%d" % (self.name, self.count), argv, kind=Scheduler)
        eventually(lambda: "listening on" in scheduler.output() or not scheduler.is_running(), 30, "it listens or dies")
        if "listening on" not in scheduler.output():
            return None
        scheduler.find_port()
        self.cluster.scheduler = scheduler
        return scheduler

    def end(self, scheduler):
        for traced in processes.named("ms-scheduler", scheduler.pid):  # killing strace would only detach it
            with contextlib.suppress(ProcessLookupError):  # it may be dying already
                muster.kill_now(traced.pid)
        scheduler.popen.kill()
        scheduler.popen.wait()
        self.cluster.programs.remove(scheduler)


def calls_of(trace):
    """Counts the calls of the busiest thread, by name."""
    counts = collections.Counter()
    for line in trace.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if match:
            counts[match.group(2), match.group(1)] += 1
    most = collections.Counter()
    for (call, _), count in counts.items():
        most[call] = max(most[call], count)
    return most


def spread(count, points):
    """Returns at most `points` numbers of 1..count, including both ends."""
    if IS_LONG or count <= points:
        return list(range(1, count + 1))
    return sorted({1 + round(i * (count - 1) / (points - 1)) for i in range(points)})


def check(lives, script):
    scheduler = lives.start()
    assert scheduler is not None, "the journal was refused:\n" + lives.cluster.programs[-1].output()
    known = script.check(scheduler.port, lives.cluster.ctl_json("status"))
    lives.end(scheduler)
    return known


def kill_and_check(lives, script, call, number):
    """Returns whether the scheduler died before the script's end, and how many runs were checked."""
    scheduler = lives.start("-e", "trace=%s" % call, "-e", "inject=%s:signal=SIGKILL:when=%d" % (call, number))
    has_died = scheduler is None or not script.play(scheduler.port)
    if scheduler is not None:
        lives.end(scheduler)
    try:
        known = check(lives, script)
    except AssertionError as error:
        raise AssertionError("killed at %s number %d: %s" % (call, number, error)) from None
    shutil.rmtree(lives.folder)
    return has_died, known


@pytest.mark.parametrize("beginning", ["fresh", "used"])
def test_kill_9_at_every_system_call(cluster, record_property, beginning):
    template = Lives(cluster, "template")
    if beginning == "used":
        scheduler = template.start()
        assert facts.Script(4, "old").play(scheduler.port)
        template.end(scheduler)

    def copy(name):
        lives = Lives(cluster, name)
        for file in template.folder.glob("journal.db*"):
            shutil.copy(file, lives.folder)
        return lives

    dry = copy("dry")
    scheduler = dry.start("-e", "trace=%s" % ",".join(POINTS))
    assert facts.Script(JOBS).play(scheduler.port)
    dry.end(scheduler)
    calls = calls_of(dry.folder / "trace")
    results = [kill_and_check(copy("%s-%d" % (call, number)), facts.Script(JOBS), call, number)
               for call, points in POINTS.items() for number in spread(calls[call], points)]
    died, known = sum(result[0] for result in results), sum(result[1] for result in results)
    told = "%d kills, %d of them before the end of the script; %d runs asked for; calls: %s" % (
        len(results), died, known, dict(calls))
    record_property("kills", told)
    print(told)
    assert len(results) >= (30 if beginning == "fresh" else 25) and died >= len(results) * 0.9, told


def test_kill_9_while_the_log_is_brought_into_the_database(cluster):
    """The write-ahead log starts from its beginning after 1,000 pages: there are enough reports for that."""
    dry = Lives(cluster, "dry")
    scheduler = dry.start("-e", "trace=pwrite64")
    assert facts.Script(JOBS, reports=MANY_REPORTS).play(scheduler.port)
    dry.end(scheduler)
    writes = collections.defaultdict(list)
    for line in (dry.folder / "trace").read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +pwrite64\(.*, (\d+), (\d+)(?:\)| <unf)", line)
        if match:
            writes[match.group(1)].append((int(match.group(2)), int(match.group(3))))
    writer = max(writes.values(), key=len)
    # Whole pages at their own place: these writes are to the database. The log has headers before its pages.
    into_database = [i + 1 for i, (size, offset) in enumerate(writer) if size == 4096 and offset % 4096 == 0]
    assert len(into_database) > 5, "no checkpoint in %d writes" % len(writer)
    for number in [into_database[i - 1] for i in spread(len(into_database), 3)] + [into_database[-1] + 1]:
        kill_and_check(Lives(cluster, "checkpoint-%d" % number), facts.Script(JOBS, reports=MANY_REPORTS), "pwrite64", number)


@pytest.mark.parametrize("fault", ["fdatasync:error=EIO:when=30", "pwrite64:error=EIO:when=200",
                                   "fdatasync:error=ENOSPC:when=30"])
def test_a_disk_with_errors_ends_the_scheduler_and_loses_nothing(cluster, fault):
    lives = Lives(cluster, "faulty")
    script = facts.Script(JOBS)
    scheduler = lives.start("-e", "trace=fdatasync,pwrite64", "-e", "inject=" + fault)
    assert not script.play(scheduler.port), "it went on over an error"
    scheduler.expect(1)
    assert re.search(r"ERROR ms-scheduler: the journal \S+ can't be written: .*[Ss]tart it again", scheduler.output())
    assert check(lives, script) > 0


def test_no_room_for_a_while_is_waited_out(cluster):
    lives = Lives(cluster, "full")
    script = facts.Script(JOBS)
    scheduler = lives.start("-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC:when=200..204")
    assert script.play(scheduler.port), scheduler.output()
    assert scheduler.output().count("is full") == 1 and scheduler.output().count("has room again") == 1
    lives.end(scheduler)
    assert check(lives, script) == JOBS
