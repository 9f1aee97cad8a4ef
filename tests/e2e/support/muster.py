"""Starts real schedulers, agents and ms-ctl for a test, waits for things with bounds, and leaves no process behind.

Every test gets a Cluster (see conftest.py) with a folder, a clean environment and a list of what it started. The kernel
chooses the ports; a program that needs a fixed one runs in a network namespace of its own (netns.py).
"""

import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import processes

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("MUSTER_BIN", ROOT / "build" / "bin"))
HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "scripts"
TRAIN = SCRIPTS / "train_digits.py"
# Every time bound is multiplied by this (sanitizers, slow machines).
SLOWNESS = float(os.environ.get("MUSTER_SLOWNESS", "1"))

# With MUSTER_E2E_TLS=1 every test's programs use mutual TLS, except the few tests that send plain text to them.
WITH_TLS = os.environ.get("MUSTER_E2E_TLS", "0") == "1"

EXIT_UNREACHABLE, EXIT_REFUSED, EXIT_NEVER_FORMED = 10, 11, 12
EXIT_FAILED_ELSEWHERE, EXIT_SCHEDULER_LOST, EXIT_SECURITY, EXIT_STOPPED = 13, 14, 15, 17

# A line of our own log, text format.
OUR_LINE = re.compile(r"^\d{4}-\d\d-\d\dT\S+ (DEBUG|INFO|WARNING|ERROR) ")


def eventually(condition, timeout, what):
    """Waits until condition() is true and returns its value. Fails after `timeout` seconds, saying `what`."""
    deadline = time.monotonic() + timeout * SLOWNESS
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, "not within %.1f s: %s" % (timeout * SLOWNESS, what)
        time.sleep(0.02)


class Program:
    """One started program with its output (stdout and stderr together) in a file."""

    def __init__(self, name, argv, env, cwd, log, limits=None, stdin=subprocess.DEVNULL):
        self.name, self.log, self.argv = name, log, [str(word) for word in argv]
        with open(log, "ab") as output:
            self.popen = subprocess.Popen(self.argv, env=env, cwd=cwd, stdin=stdin, stdout=output,
                                          stderr=subprocess.STDOUT, preexec_fn=limits)
        self.pid = self.popen.pid

    def output(self):
        return self.log.read_text(errors="replace")

    def lines(self):
        return self.output().splitlines()

    def our_lines(self):
        """The program's own lines, without the output of training processes."""
        return [line for line in self.lines() if OUR_LINE.match(line)]

    def is_running(self):
        return self.popen.poll() is None

    def send(self, signal_number):
        self.popen.send_signal(signal_number)

    def wait(self, timeout):
        """Returns the exit code, as a shell shows it."""
        try:
            code = self.popen.wait(timeout * SLOWNESS)
        except subprocess.TimeoutExpired:
            raise AssertionError("%s did not end within %.1f s; its last lines:\n%s" %
                                 (self.name, timeout * SLOWNESS, self.tail())) from None
        return 128 - code if code < 0 else code

    def expect(self, code, timeout=30):
        found = self.wait(timeout)
        assert found == code, "%s ended with %d, expected %d; its last lines:\n%s" % (self.name, found, code,
                                                                                    self.tail())

    def expect_said(self, pattern, timeout=10):
        """Waits until the output holds the pattern; returns the match."""
        def look():
            return re.search(pattern, self.output(), re.MULTILINE)
        try:
            return eventually(look, timeout, "%s says /%s/" % (self.name, pattern))
        except AssertionError as error:
            raise AssertionError("%s; its last lines:\n%s" % (error, self.tail())) from None

    def tail(self, count=25):
        return "\n".join(self.lines()[-count:])


def free_port():
    """Finds a free port of 127.0.0.1, for a program that can't choose one itself."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Scheduler(Program):
    """A scheduler, with its port once it listens."""

    def find_port(self):
        match = self.expect_said(r"listening on (\S+):(\d+)", timeout=20)
        self.host, self.port = match.group(1).strip("[]"), int(match.group(2))


class Cluster:
    """All programs that one test started. Use as a context; at the end every descendant is killed."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.runtime = pathlib.Path(tempfile.mkdtemp(prefix="muster-e2e-"))  # short, since sockets' paths are limited
        self.programs = []
        self.env = self.clean_environment()
        self.scheduler = None
        if WITH_TLS:
            self.use_tls()

    def clean_environment(self):
        """The tester's environment without the variables that affect a training job."""
        steering = re.compile(r"^(MS|MUSTER|MASTER|TORCH|TORCHELASTIC|HCCL|CM|GLOO|OMPI|HOROVOD)_|"
                              r"^(RANK|WORLD_SIZE|LOCAL_RANK|NODE_RANK|NNODES|RANK_SIZE|RANK_ID|DEVICE_ID)$")
        env = {name: value for name, value in os.environ.items() if not steering.match(name)}
        env["PATH"] = "%s:%s" % (BIN, env["PATH"])
        env["XDG_RUNTIME_DIR"] = str(self.runtime)
        env["XDG_STATE_HOME"] = str(self.runtime / "state")
        env["TMPDIR"] = str(self.runtime)
        return env

    def use_tls(self):
        """From now on all programs use mutual TLS, with one certificate for all agents."""
        import pki
        authority = pki.Authority()
        self.tls = pki.Folder(self.runtime / "tls", authority, authority.scheduler(), authority.host())
        self.env["MS_TLS_CONFIG"] = str(self.tls.config)

    def start(self, name, argv, env=None, cwd=None, netns=None, kind=Program, **options):
        if netns is not None:
            argv = ["ip", "netns", "exec", netns] + list(argv)
        merged = dict(self.env)
        merged.update({key: str(value) for key, value in (env or {}).items()})
        program = kind(name, argv, {key: value for key, value in merged.items() if value != "None"},
                       cwd or self.folder, self.folder / ("%s.log" % name), **options)
        self.programs.append(program)
        return program

    def start_scheduler(self, *words, name="scheduler", host="127.0.0.1", port=0, **options):
        scheduler = self.start(name, [BIN / "ms-scheduler", "--sched_host", host, "--sched_port", port, *words],
                               kind=Scheduler, **options)
        scheduler.find_port()
        if WITH_TLS or "MS_TLS_CONFIG" in self.env:
            # If TLS were off by mistake, every test would still pass.
            scheduler.expect_said("mutual TLS; this scheduler is")
        self.scheduler = self.scheduler or scheduler
        return scheduler

    def agent_words(self, scheduler=None):
        scheduler = scheduler or self.scheduler
        return ["--sched_host", scheduler.host, "--sched_port", scheduler.port]

    def start_agent(self, name, words, command=(), scheduler=None, **options):
        """Starts an agent of the scheduler (unless `words` say otherwise), with `command` as its training program;
        without one it prints its assignment."""
        words = [str(word) for word in words]
        if "--sched_port" not in words:
            words = self.agent_words(scheduler) + words
        tail = ["--", *command] if command else ["--print_assignment"]
        return self.start(name, [BIN / "ms-worker", *words, *tail], **options)

    def start_agents(self, count, words, command=(), **options):
        return [self.start_agent("agent%d" % i, words, command, **options) for i in range(count)]

    def ctl(self, *words, scheduler=None, code=0, netns=None):
        """Returns ms-ctl's stdout. Fails if it ends with another code."""
        argv = [BIN / "ms-ctl", *self.agent_words(scheduler), *words]  # the last value of a setting wins
        if netns is not None:
            argv = ["ip", "netns", "exec", netns] + argv
        done = subprocess.run([str(word) for word in argv], env=self.env, timeout=20 * SLOWNESS, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == code, "ms-ctl %s ended with %d: %s%s" % (" ".join(map(str, words)), done.returncode,
                                                                         done.stdout, done.stderr)
        return done.stdout + (done.stderr if code else "")

    def ctl_json(self, *words, **options):
        return json.loads(self.ctl(*words, "--json", **options))

    def phase(self, job="default", **options):
        """The phase of the job's latest run; None if there is none yet."""
        for run in self.ctl_json("status", **options)["runs"]:
            if run["job_id"] == job:
                return run["phase"]
        return None

    def wait_for_phase(self, phase, job="default", timeout=20, **options):
        eventually(lambda: self.phase(job, **options) == phase, timeout, "job %s is %s" % (job, phase))

    def wait_until_running(self, count, job="default", timeout=30, **options):
        """Waits until that many processes of the job run; returns their ranks as ms-ctl lists them."""
        def ranks():
            listing = self.ctl_json("ranks", "--job", job, **options)["jobs"]
            running = [rank for entry in listing for rank in entry["ranks"] if rank["state"] == "running"]
            return running if len(running) == count else None
        self.wait_for_phase("running", job, timeout, **options)
        return eventually(ranks, timeout, "%d processes run" % count)

    def descendants(self):
        return processes.descendants(os.getpid())

    def expect_nothing_left(self, timeout=2):
        """No descendant of this test lives on (except those that `programs` still run)."""
        def leftover():
            for program in self.programs:
                program.popen.poll()
            processes.reap_adopted({program.pid for program in self.programs})
            return [process for process in self.descendants()]
        eventually(lambda: not leftover(), timeout,
                   "every process is gone; left: %s" % [str(process) for process in leftover()])

    def close(self):
        processes.kill_descendants({program.pid: program.popen for program in self.programs})
        shutil.rmtree(self.runtime, ignore_errors=True)

    def describe(self):
        """The last lines of every log, for a failed test's report."""
        out = []
        for program in self.programs:
            out.append("---- %s (%s)" % (program.name, "running" if program.is_running() else
                                         "exit code %s" % program.popen.returncode))
            out.append(program.tail(40))
        return "\n".join(out)


def become_subreaper():
    """Makes orphans of the test's programs children of this process, so that none can hide."""
    pr_set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(pr_set_child_subreaper, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def no_warnings(program):
    """Fails if the program logged anything above INFO."""
    loud = [line for line in program.our_lines() if re.search(r" (WARNING|ERROR) ", line)]
    assert not loud, "%s warned:\n%s" % (program.name, "\n".join(loud))


def kill_now(pid):
    os.kill(pid, signal.SIGKILL)
    return time.monotonic()
