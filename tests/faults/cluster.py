"""The cluster of one episode: a scheduler, four nodes of two processes each, and spares. Starts its programs again when
they end, as a machine's supervisor does."""

import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

import checks
import muster
import netns
import processes
import usage
from muster import EXIT_REFUSED
from roles import Family

HERE = pathlib.Path(__file__).resolve().parent
NODES, SLOTS, PORT = 4, 2, 8118
# Short values keep an episode short; the fence falls 5 s plus a stop_timeout before its time. In seconds.
HEARTBEAT, LEASE, GRACE, STOP, FENCE = 0.5, 4, 2, 1, 9
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}


GRPC_GIVES_UP = re.compile(r"statusor\.cc : \d+\] RAW: .*([Ee]ventfd|epoll|pipe|descriptor|Too many open files)|"
                           r"No event engine could be initialized")


class Alone:
    """Stands for the only machine where there are no namespaces."""
    name, address = None, "127.0.0.1"


class Member:
    """The scheduler or a node: at most one program at a time."""

    def __init__(self, name, machine, start):
        self.name, self.machine, self._start = name, machine, start
        self.program, self.starts, self.start_at = None, 0, None
        self.is_spare = name.startswith("spare")
        self.pause = 1  # seconds until it is started again; the fault that kills it sets this
        self.limits = None  # called in the new process before the program runs

    def start(self):
        self.starts, self.start_at = self.starts + 1, None
        self.program = self._start(self)

    def is_running(self):
        return self.program is not None and self.program.is_running()

    def pid(self):
        return self.program.pid if self.is_running() else None


class Cluster:
    """All files are below `folder`. The lane (lanes.py) and the episode's random source decide what the job is like.
    The caller that made the cluster closes it, even if prepare() failed."""

    def __init__(self, folder, mark, lane, chance):
        self.folder, self.lane, self.mark, self.zero = folder, lane, mark, time.monotonic()
        self.is_wrapped, self.ignores_sigterm = chance.random() < 0.6, chance.random() < 0.6
        self.is_bare = any(kind.endswith("-row") for kind in lane.kinds)  # descendants clear their environment
        self.beats, self.disk = folder / "beats", folder / "disk"
        self.programs = muster.Cluster(folder)
        self.env = self.programs.env
        self.network, self.family, self.usage = netns.Network(), Family(), usage.Usage()
        self.own, self.violations, self.events = {}, [], []
        self.gripped = set()  # pids of programs that we hurt: their calls fail, or their descriptors are used up
        self.frozen = []  # (role, node, pid) of each process that a fault has stopped
        self.open_files = {}  # pid: its limits of descriptors before we lowered them
        self.restarts = {"scheduler", "nodes"} if lane.recovers else {"scheduler"}
        self.scheduler, self.members, self.nodes, self.job = None, [], [], "default"

    def prepare(self):
        """Makes machines, a small disk for journal and logs, and certificates; skips (pytest.skip) where these can't be
        had."""
        lane, folder = self.lane, self.folder
        for path in (self.beats, self.disk, folder / "state"):
            path.mkdir()
        machines = ([Alone()] * (1 + NODES + lane.spares) if lane.way == "clock" else
                    self.network.star(1 + NODES + lane.spares))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=700", "muster-faults", self.disk], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if mounted.returncode != 0:
            pytest.skip("no small disk can be had: %s" % mounted.stdout.strip())
        self.scheduler = Member("scheduler", machines[0], self._start_scheduler)
        self.nodes = [Member("n%d" % i if i < NODES else "spare%d" % (i - NODES), machine, self._start_agent)
                      for i, machine in enumerate(machines[1:])]
        self.members = [self.scheduler, *self.nodes]
        self.port = muster.free_port() if lane.way == "clock" else PORT
        # With the default socket, root's ms-ctl would reach any scheduler of this machine with the same port.
        self.env.update({"MS_ENABLE_RECOVERY": "1" if lane.recovers else "0", "MS_RECOVERY_PATH": str(folder / "state"),
                         "MS_ADMIN_SOCKET": str(self.programs.runtime / "admin.sock")})
        if lane.tls:
            self._use_tls(machines[0].address)
        self.programs.ctl = functools.partial(self.programs.ctl, netns=machines[0].name)

    def _use_tls(self, address):
        import pki
        authority = pki.Authority()
        tls = pki.Folder(self.programs.runtime / "tls", authority, authority.scheduler((address, "127.0.0.1")),
                         authority.host())
        self.env["MS_TLS_CONFIG"] = str(tls.config)

    # ------------------------------------------------------------------------------------------------------- starting

    def note(self, text):
        self.events.append((time.monotonic() - self.zero, text))

    def _start_program(self, member, words, kind=muster.Program):
        name = "%s.%d" % (member.name, member.starts)
        self.note("%s starts" % name)
        program = self.programs.start(name, [str(word) for word in words], kind=kind, netns=member.machine.name,
                                      env={checks.MARK: "%s/%s" % (self.mark, member.name)}, limits=member.limits)
        self.own[program.pid] = program.popen
        return program

    def _start_scheduler(self, member):
        fence = ["--fence_timeout", FENCE] if self.lane.spares else []
        patience = 12 if self.lane.way == "starved" else 60
        words = [muster.BIN / "ms-scheduler", "--sched_host", member.machine.address, "--sched_port", self.port,
                 "--journal_path", self.disk / "journal.db", "--node_timeout", LEASE, "--heartbeat_interval", HEARTBEAT,
                 "--disconnect_grace", GRACE, "--stop_timeout", STOP, "--rejoin_timeout", patience,
                 "--topo_timeout", patience, "--max_restarts", 3 if self.lane.way == "starved" else 1000,
                 "--restart_scope", self.lane.scope, *fence]
        if not self.lane.recovers:
            words = words[:words.index("--max_restarts")]
        program = self._start_program(member, words, muster.Scheduler)
        program.host, program.port = member.machine.address, self.port
        self.programs.scheduler = program
        return program

    def _start_agent(self, member):
        words = ["--worker_num", NODES * SLOTS, "--local_worker_num", SLOTS, "--node_id", member.name, "--job_id",
                 self.job, "--log_dir", self.disk / "logs", "--stop_timeout", STOP]
        if self.lane.way == "starved":
            words += ["--topo_timeout", 12, "--cluster_retry_num", 2]
        if member.is_spare:
            words.append("--spare")
        if self.lane.isolates:
            words += ["--isolate", "pid"]
        training = [sys.executable, "-S", HERE / "beat.py", self.beats,
                    *(["--ignore_sigterm"] if self.ignores_sigterm else []),
                    *(["--bare"] if self.is_bare else [])]
        if self.is_wrapped:  # so that the training is the shell's child
            training = ["sh", "-c", '"$@"; exit $?', "sh", *training]
        to = self.programs.agent_words(self.scheduler.program)
        return self._start_program(member, [muster.BIN / "ms-worker", *to, *words, "--", *training])

    def start(self):
        self.scheduler.start()
        self.scheduler.program.find_port()
        for node in self.nodes:
            node.start()

    # -------------------------------------------------------------------------------------------------- while it runs

    def supervise(self, seconds):
        """Runs for `seconds`: collects ended processes, starts again what is due, and samples the usage."""
        until = time.monotonic() + seconds
        while True:
            self._reap()
            now = time.monotonic()
            for member in self.members:
                if member.program is not None and member.start_at is None and not member.is_running():
                    self._note_end(member, now)
                if member.start_at is not None and now >= member.start_at:
                    member.start()
            if self.usage.is_due(now):
                self.usage.sample(now, self)
            if now >= until:
                return
            time.sleep(min(0.02, until - now))

    def _note_end(self, member, now):
        code = member.program.popen.returncode
        told = self.events and any("%s.%d ends" % (member.name, member.starts) in text for _, text in self.events)
        if not told:
            self.note("%s.%d ends with %d" % (member.name, member.starts, code))
            if code < 0 and -code in CRASHES and not self._was_gripped(member.program):
                self.violations.append("%s.%d died of signal %d; its last lines:\n%s" % (
                    member.name, member.starts, -code, member.program.tail(8)))
        if code == EXIT_REFUSED:  # the job formed without this node, so it does as its last line advises
            member.is_spare = True
        if ("scheduler" if member is self.scheduler else "nodes") in self.restarts:
            member.start_at, member.pause = now + member.pause, 1

    def _was_gripped(self, program):
        """True if gRPC aborted the program because a fault had taken its descriptors away: that is allowed."""
        return program.pid in self.gripped and GRPC_GIVES_UP.search(program.tail(3))

    def restart_no_more(self, *which):
        """Names "scheduler", "nodes" or both."""
        self.restarts -= set(which)
        for member in self.members:
            if ("scheduler" if member is self.scheduler else "nodes") not in self.restarts:
                member.start_at = None

    def _reap(self):
        """Collects orphans as init does, so that they don't stay as zombies."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid in self.own:
                self.own.pop(ended.si_pid).poll()
            else:
                os.waitpid(ended.si_pid, 0)

    def parts(self):
        return self.family.parts({node.name: node.pid() for node in self.nodes}, self.others())

    def others(self):
        """The campaign's children that belong to no node."""
        agents = {node.pid() for node in self.nodes}
        return {pid for pid in self.own if pid not in agents}

    def go(self):
        """Lets every process of the job end with 0, until hold()."""
        (self.beats / ("go." + self.job)).touch()

    def hold(self):
        (self.beats / ("go." + self.job)).unlink(missing_ok=True)

    def status(self):
        """Returns the status of the job's latest run; None when the scheduler does not answer."""
        try:
            runs = self.programs.ctl_json("status")["runs"]
        except (AssertionError, subprocess.TimeoutExpired, ValueError):
            return None
        return next((run for run in reversed(runs) if run["job_id"] == self.job), None)

    def is_whole(self):
        """Every rank runs on a node that sends heartbeats, and every agent of ours runs."""
        status = self.status()
        if status is None or status["phase"] != "running" or not all(member.is_running() for member in self.members):
            return False
        try:
            nodes = self.programs.ctl_json("nodes")["jobs"]
            jobs = self.programs.ctl_json("ranks", "--job", self.job)["jobs"]
        except (AssertionError, subprocess.TimeoutExpired, ValueError):
            return False
        ranks = [rank for job in jobs for rank in job["ranks"]]
        heard = {node["node_id"] for job in nodes for node in job["nodes"]
                 if node["state"] == "connected" and node["last_seen_ms"] < 3000}
        return len(heard) == len(self.nodes) and len(ranks) == NODES * SLOTS and all(
            rank["state"] == "running" and rank["node_id"] in heard for rank in ranks)

    def close(self):
        processes.kill_descendants(dict(self.own))
        self.network.close()
        subprocess.run(["umount", "-l", self.disk], stderr=subprocess.DEVNULL)
        self.programs.close()
