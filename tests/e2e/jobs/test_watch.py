"""ms-ctl watch on a terminal: it uses a screen of its own, and restores the terminal afterwards."""

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios

import pytest

from muster import BIN, EXIT_STOPPED, eventually

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"


class Screen:
    """The screen that a person sees, with the parts of a terminal that `watch` uses."""

    def __init__(self, cluster, *words, rows=30, columns=110):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        words = [str(word) for word in [BIN / "ms-ctl", "watch", *cluster.agent_words(), *words]]
        self.program = subprocess.Popen(words, env={**cluster.env, "TERM": "xterm"}, stdin=self.slave, stdout=self.slave, stderr=self.slave)
        os.set_blocking(self.master, False)
        self.said = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def lines(self):
        """The lines of the last complete picture."""
        with contextlib.suppress(BlockingIOError, OSError):
            while piece := os.read(self.master, 65536):
                self.said += piece
        return [line.replace("\x1b[2K", "").rstrip("\r") for line in self.said.split(b"\x1b[H")[-1].decode(errors="replace").split("\r\n")]

    def see(self, words, timeout=10):
        eventually(lambda: any(words in line for line in self.lines()), timeout, "%r is seen in %r" % (words, self.lines()))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def is_as_before(self):
        self.lines()  # reads on
        return LEAVE in self.said.split(ENTER)[-1] and b"\x1b[?25h" in self.said.split(ENTER)[-1] and \
            termios.tcgetattr(self.slave) == self.before

    def close(self):
        self.program.kill()
        self.program.wait()
        os.close(self.slave)
        os.close(self.master)


@pytest.fixture
def screen(cluster):
    """A screen with two jobs, one of which has two nodes."""
    cluster.start_scheduler()
    for name in ("a", "b"):
        cluster.start_agent(name, ["--node_id", name, "--worker_num", 2], ["sleep", "1000"])
    cluster.start_agent("c", ["--job_id", "other", "--worker_num", 1], ["sleep", "1000"])
    cluster.wait_until_running(2)
    cluster.wait_until_running(1, "other")
    made = []

    def make(*words, **options):
        made.append(Screen(cluster, *words, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_jobs_nodes_and_the_way_back(screen):
    watch = screen()
    watch.see("2 runs")
    assert sum("running" in line for line in watch.lines()) == 2, watch.lines()
    watch.press("/othe")
    watch.see("/othe_")
    assert sum("running" in line for line in watch.lines()) == 1, watch.lines()
    watch.press("\x1b")
    watch.see("/ filter   s sort: state")
    watch.press("s\x1b[A\r")
    watch.see("job default, run 1: running")
    watch.see("formed")  # its events
    watch.see("connected")
    watch.press("\x1b[B\r")
    watch.see("node b: connected")
    watch.press("\x1b")
    watch.resize(12, 40)
    watch.program.send_signal(signal.SIGWINCH)
    eventually(lambda: len(watch.lines()) == 12 and max(map(len, watch.lines())) <= 48, 5, "it fits the new size")
    watch.press("\x1b")
    watch.see("scheduler 127.0.0.1")
    watch.press("q")
    assert watch.program.wait(10) == 0 and watch.is_as_before()


def test_the_terminal_is_as_before_however_it_ends(screen):
    watches = [(screen(), number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGABRT)]
    for watch, number in watches:
        watch.see("2 runs")
        assert not watch.is_as_before()
        watch.program.send_signal(number)
    for watch, number in watches:
        assert watch.program.wait(10) == -number and watch.is_as_before(), number


def test_stopped_it_gives_the_terminal_back_and_takes_it_again(screen):
    watch = screen()
    watch.see("2 runs")
    watch.program.send_signal(signal.SIGTSTP)
    assert os.WIFSTOPPED(os.waitpid(watch.program.pid, os.WUNTRACED)[1])
    assert watch.is_as_before()
    watch.program.send_signal(signal.SIGCONT)
    eventually(lambda: not watch.is_as_before(), 5, "it has the terminal again")
    eventually(lambda: watch.lines() and b"2 runs" in watch.said.split(ENTER)[-1], 5, "and draws again")
    watch.press("q")
    assert watch.program.wait(10) == 0 and watch.is_as_before()


def test_the_named_job_ends_it_and_a_lost_scheduler_is_said(screen, cluster):
    named, other = screen("--job", "default"), screen()
    named.see("job default, run 1: running")
    other.see("2 runs")
    cluster.ctl("stop", "--yes", "default")
    assert named.program.wait(10) == EXIT_STOPPED and named.is_as_before()
    assert b"stopped by" in named.said.split(LEAVE)[-1], "the end stays to be read"
    other.see("stopped by")
    cluster.scheduler.send(signal.SIGKILL)
    other.see("! trying again: ", timeout=15)
    other.press("q")
    assert other.program.wait(15) == 14 and other.is_as_before()


def test_at_80_columns_a_long_cause_wraps(screen, cluster):
    """The end of a long line is where it says what to do."""
    reason = "the data set was replaced by one whose labels are shifted by one, so every loss since noon is wrong: END"
    full, plain = screen("--job", "default", rows=40, columns=80), screen("--job", "default", "--plain", rows=40, columns=80)
    full.see("job default, run 1: running")
    cluster.ctl("restart", "default", "--reason", reason)
    for one in (full, plain):
        eventually(lambda: "wrong: END" in " ".join(line.strip() for line in one.lines()), 15,
                   "the end is seen in %r" % one.lines())
    assert all(len(line.split("\x1b[0m")[0].replace("\x1b[7m", "")) <= 80 for line in full.lines()), full.lines()
