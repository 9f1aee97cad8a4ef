"""One measurement: a scheduler with agents under one attack, from several connections, plain or over TLS."""

import json
import re
import signal
import subprocess
import sys
import threading
import time

import control_group
import muster
import report
from muster import BIN, HERE as SUPPORT

HERE = SUPPORT.parents[1] / "attacks"
HEARTBEAT, LEASE = 2, 10  # seconds
MB = 1 << 20


class Memory:
    """Watches the scheduler's resident memory, 20 times a second. Where the kernel has no limit for it, kills the
    scheduler at the same size."""

    def __init__(self, pid, is_killer):
        self.pid, self.is_killer, self.peak, self.has_ended = pid, is_killer, 0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    def now(self):
        """In MB; None when the scheduler is gone."""
        try:
            with open("/proc/%d/status" % self.pid) as file:
                match = re.search(r"^VmRSS:\s+(\d+) kB", file.read(), re.MULTILINE)
        except OSError:
            return None
        return int(match.group(1)) / 1024 if match else None  # a zombie has none

    def _look(self):
        while not self.has_ended.wait(0.05):
            now = self.now() or 0
            self.peak = max(self.peak, now)
            if self.is_killer and now > report.MEMORY_LIMIT_MB:
                muster.kill_now(self.pid)
                return

    def end(self):
        self.has_ended.set()
        self.thread.join()


def _cpu_seconds(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / 100


def make_group():
    """Returns (group, None), or (None, the reason why there is none)."""
    try:
        return control_group.MemoryGroup(report.MEMORY_LIMIT_MB * MB), None
    except OSError as error:
        return None, str(error)


class Cell:
    """Use as a context: at its end all processes that it started are gone. `options`: seconds, agents, datagrams,
    calm."""

    def __init__(self, folder, attack, connections, certificates, options):
        self.attack, self.connections, self.certificates, self.options = attack, connections, certificates, options
        self.cluster, self.group = muster.Cluster(folder), None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.close()
        if self.group:
            self.group.close()

    def words(self, who):
        return self.certificates.words(who) if self.certificates else []

    def folder_words(self, who):
        return ["--tls", self.certificates.of(who)] if self.certificates else []

    def run(self):
        self.group, _ = make_group()
        self.scheduler = self.cluster.start_scheduler(
            "--heartbeat_interval", HEARTBEAT, "--node_timeout", LEASE, "--journal_path", self.cluster.folder / "journal.db",
            "--heartbeat_datagrams", str(self.options.datagrams).lower(), *self.words("scheduler"),
            limits=self.group.enter if self.group else None)
        honest = self._start_honest()
        agents = self._start_agents()
        memory = Memory(self.scheduler.pid, is_killer=self.group is None)
        try:
            return self._attack(memory, agents, honest)
        finally:
            memory.end()

    def _attack(self, memory, agents, honest):
        before, counted, cpu = memory.now(), self._counters() or {}, _cpu_seconds(self.scheduler.pid)
        memory.peak = before
        honest.popen.stdin.write(b"go\n")
        honest.popen.stdin.flush()
        attacker = self.cluster.start("attacker", [
            sys.executable, HERE / "attacker.py", self.attack.name, "127.0.0.1", self.scheduler.port, "--connections",
            self.connections, "--seconds", self.options.seconds, *self.folder_words("attacker")])
        attacker.wait(self.options.seconds + 30)
        cpu_after = _cpu_seconds(self.scheduler.pid)
        honest.popen.stdin.close()
        time.sleep(self.options.calm)
        after = memory.now()
        result = {"attack": self.attack.name, "connections": self.connections, "tls": self.certificates is not None,
                  "seconds": self.options.seconds, "agents": self.options.agents, "rest_mb": before,
                  "growth_mb": memory.peak - before, "left_mb": None if after is None else after - before,
                  "is_alive": self.scheduler.is_running(), "end": self._end(),
                  "cores": (cpu_after - cpu) / self.options.seconds if cpu_after else None}
        result.update(self._result_of_attacker(attacker))
        result.update(self._result_of_honest(honest))
        result.update(self._result_of_agents(agents))
        counters = self._counters()
        result["is_answering"] = counters is not None
        result["counted"] = {name: count - counted.get(name, 0) for name, count in (counters or {}).items()
                             if count > counted.get(name, 0)}
        result["misses"] = report.misses(result)
        return result

    def _start_agents(self):
        if not self.options.agents:
            return None
        agents = self.cluster.start("agents", [
            BIN / "muster_load", "--measure=heartbeat", "--target=127.0.0.1:%d" % self.scheduler.port, "--subject=muster",
            "--slots=1", "--agents=%d" % self.options.agents, "--window=%g" % self.options.seconds, *self.words("agents")])
        agents.expect_said("^ready$", timeout=120)
        return agents

    def _start_honest(self):
        interval = min(2, self.options.seconds / 6)
        honest = self.cluster.start("honest", [
            sys.executable, HERE / "honest.py", "127.0.0.1", self.scheduler.port, "--interval", interval,
            *self.folder_words("honest")], stdin=subprocess.PIPE)
        honest.expect_said("^ready$", timeout=60)
        return honest

    def _counters(self):
        """Returns None when ms-ctl gets no answer."""
        if not self.scheduler.is_running():
            return None
        try:
            return self.cluster.ctl_json(*self.words("admin"), "counters")["counters"]
        except (AssertionError, subprocess.TimeoutExpired):
            return None

    def _end(self):
        if self.scheduler.is_running():
            return ""
        code = self.scheduler.popen.returncode
        return "killed at %d MB" % report.MEMORY_LIMIT_MB if code == -signal.SIGKILL else "exit code %d" % code

    def _result_of_attacker(self, attacker):
        told = json.loads(attacker.lines()[-1]) if attacker.lines() else {}
        cuts = told.get("cuts", 0) + told.get("refused", 0)
        return {"attacker": told, "cuts_a_second": cuts / self.options.seconds,
                "sent_mb_a_second": told.get("sent_bytes", 0) / MB / self.options.seconds}

    def _result_of_honest(self, honest):
        honest.wait(20)
        joins = [json.loads(line) for line in honest.lines() if line.startswith("{")]
        took = [join["ms"] for join in joins if "ms" in join]
        errors = [join["error"] for join in joins if "error" in join]
        return {"joins": len(took), "join_ms": max(took, default=None), "joins_failed": len(errors),
                "join_errors": sorted(set(errors))}

    def _result_of_agents(self, agents):
        if agents is None:
            return {"p99_ms": None, "leases_lost": None}
        agents.wait(60)
        told = next((json.loads(line) for line in reversed(agents.lines()) if line.startswith("{")), None)
        if told is None:
            return {"p99_ms": None, "leases_lost": self.options.agents, "agents_said": agents.tail(5)}
        return {"p99_ms": told["answer_p99_ms"], "p50_ms": told["answer_p50_ms"], "max_ms": told["answer_max_ms"],
                "leases_lost": told["broken_streams"], "unanswered": told["failed"]}
