"""Passwords and private keys: none in logs, files, command lines and training processes; no core dumps of programs that
have them."""

import ctypes
import os
import pathlib
import platform
import re
import resource
import signal
import socket
import threading
import time

import pytest
from cryptography.hazmat.primitives import serialization

import pki
import processes
from muster import WITH_TLS, eventually
from ring import Ring

PASSWORD = "the-password-that-nobody-may-see"
WAIT_FOR_GO = "while [ ! -e go ]; do sleep 0.1; done"

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


class CommandLines(threading.Thread):
    """The command lines of all processes that a test started, read again and again."""

    def __init__(self):
        super().__init__()
        self.seen, self.is_over = {}, threading.Event()

    def run(self):
        while not self.is_over.is_set():
            for process in processes.descendants(os.getpid()):
                self.seen[process.command] = process.name
            time.sleep(0.005)

    def stop(self):
        self.is_over.set()
        self.join()
        return self.seen


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def key_lines(*issued):
    """The lines of a private key as a text would show them."""
    lines = []
    for each in issued:
        pem = each.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption())
        lines += [line for line in pem.splitlines() if b"PRIVATE KEY" not in line]
    return lines


class Job:
    """Two agents with two processes each and a check of the ring before, all with .p12 files under one password."""

    def __init__(self, cluster, source):
        self.cluster, self.authority = cluster, pki.Authority()
        self.issued = {"scheduler": self.authority.scheduler(), "a": self.authority.node("a"), "b": self.authority.node("b"),
                       "admin": self.authority.admin()}
        self.folders = {}
        for name, issued in self.issued.items():
            folder = pki.Folder(cluster.runtime / ("tls-" + name), self.authority,
                                more={"server_cert_path": "own.p12", "client_cert_path": "own.p12"})
            pki.write(folder.path / "own.p12", issued.p12(PASSWORD))
            pki.write(folder.path / "password", PASSWORD.encode() + b"\n")
            self.folders[name] = folder
        self.source = source

    def env(self, name):
        variable = "MS_TLS_%s_PASSWORD" % ("SERVER" if name == "scheduler" else "CLIENT")
        if self.source == "variable":
            return {variable: PASSWORD}
        return {variable + "_FILE": self.folders[name].path / "password"}

    def start_scheduler(self, **options):
        return self.cluster.start_scheduler("--tls_config", self.folders["scheduler"].config, "--log_level", "debug",
                                            "--journal_path", self.cluster.folder / "journal.db",
                                            env=self.env("scheduler"), **options)

    def start_agent(self, name, command, *words, **options):
        return self.cluster.start_agent(
            name, ["--tls_config", self.folders[name].config, "--worker_num", 4, "--local_worker_num", 2, "--preflight",
                   "ring", "--log_level", "debug", "--log_dir", self.cluster.folder / ("logs-" + name), *words],
            command, env={**self.env(name), "MS_RING_SLOW_FACTOR": 0}, **options)


@pytest.mark.parametrize("source", ["variable", "file"])
def test_no_secret_is_seen_anywhere(cluster, source):
    job = Job(cluster, source)
    secrets = [PASSWORD.encode(), *key_lines(*job.issued.values())]
    watch = CommandLines()
    watch.start()
    try:
        scheduler = job.start_scheduler()
        show = ["sh", "-c", "env > env-$RANK.new && mv env-$RANK.new env-$RANK; " + WAIT_FOR_GO]
        agents = [job.start_agent(name, show) for name in ("a", "b")]
        eventually(lambda: all((cluster.folder / ("env-%d" % rank)).exists() for rank in range(4)), 60, "all ranks run")
        for rank in range(4):
            told = (cluster.folder / ("env-%d" % rank)).read_text()
            assert not re.search(r"^MS_TLS_\w*PASSWORD", told, re.MULTILINE), told
        for process in cluster.descendants():
            try:
                found = pathlib.Path("/proc/%d/environ" % process.pid).read_bytes()
            except (FileNotFoundError, ProcessLookupError):
                continue  # a command of the script has ended meanwhile
            assert PASSWORD.encode() not in found, process
        # A call that lasts, so that it is surely seen.
        cluster.start("ctl", ["ms-ctl", *cluster.agent_words(), "--tls_config", job.folders["admin"].config, "watch"],
                      env=job.env("admin"))
        eventually(lambda: "ms-ctl" in list(watch.seen.values()), 20, "ms-ctl is looked at")
        agents[1].send(signal.SIGKILL)  # its keeper sends the last report, with the agent's certificate
        scheduler.expect_said(r"\bb\b.*(SIGKILL|signal 9|killed)", 30)
        agents[0].wait(60)
    finally:
        seen = watch.stop()
    assert {"ms-scheduler", "ms-worker", "ms-keeper", "ms-ctl", "ms-ring"} <= set(seen.values()), set(seen.values())
    for command in seen:
        assert not any(secret in command.encode() for secret in secrets), command
    files = [path for folder in (cluster.folder, cluster.runtime) for path in folder.rglob("*")
             if path.is_file() and not any(path.is_relative_to(tls.path) for tls in job.folders.values())]
    assert any(path.name == "journal.db" for path in files) and any(path.parent.name == "logs-a" for path in files), files
    for path in files:
        found = path.read_bytes()
        assert not any(secret in found for secret in [*secrets, b"PRIVATE KEY"]), path


def memory_holds(pid, wanted):
    """Finds which of the texts are in the memory of a process, including its environment and arguments."""
    found = set()
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
        for line in maps:
            addresses, rights = line.split()[:2]
            begin, end = (int(number, 16) for number in addresses.split("-"))
            if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            try:
                memory.seek(begin)
                content = memory.read(end - begin)
            except OSError:  # pages of a file that was truncated
                continue
            found |= {text for text in wanted if text in content}
    return found


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to read the memory of processes that have no debugger")
@pytest.mark.parametrize("source", ["variable", "file"])
def test_only_processes_that_need_them_have_secrets_in_memory(cluster, source):
    """Processes that the agent forks have no copy of password and key, nor of the data for the last report."""
    job = Job(cluster, source)
    key = job.issued["a"].key
    secrets = [PASSWORD.encode(), *key_lines(job.issued["a"]),
               key.private_bytes(serialization.Encoding.DER, serialization.PrivateFormat.PKCS8,
                                 serialization.NoEncryption())[-64:]]
    job.start_scheduler()
    agents = [job.start_agent(name, ["sh", "-c", "touch begun-$RANK; " + WAIT_FOR_GO]) for name in ("a", "b")]
    eventually(lambda: all((cluster.folder / ("begun-%d" % rank)).exists() for rank in range(4)), 60, "all ranks run")
    below = [process for process in processes.descendants(agents[0].pid) if process.name != "sleep"]  # these come and go
    assert {"ms-keeper", "ms-keeper-files", "sh"} <= {process.name for process in below}
    for process in below:
        assert not memory_holds(process.pid, secrets), (process, memory_holds(process.pid, secrets))
    assert memory_holds(agents[0].pid, secrets), "the agent has them: so they would have been seen"


PATTERN = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
needs_dumps = pytest.mark.skipif(PATTERN.startswith("|") or "/" in PATTERN or
                                 resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY,
                                 reason="core dumps of these processes don't come into their folder")


def dumps(cluster):
    return list(cluster.folder.glob(PATTERN.split("%")[0] + "*"))


def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def jump_to_nowhere(pid):
    """Causes a real segmentation fault: a process that blocks all signals dies of it, too."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    attach, poke_user, detach = 16, 6, 17
    orig_rax, rip = 15 * 8, 16 * 8
    assert ptrace(attach, pid, None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(pid, 0x40000000)  # __WALL
    minus_one = ctypes.c_void_p(2 ** 64 - 1)  # so that no system call is started again
    for place, value in ((orig_rax, minus_one), (rip, None)):
        assert ptrace(poke_user, pid, place, value) == 0, os.strerror(ctypes.get_errno())
    assert ptrace(detach, pid, None, None) == 0, os.strerror(ctypes.get_errno())


@needs_dumps
@pytest.mark.skipif(platform.machine() != "x86_64", reason="knows the registers of x86_64 only")
def test_a_process_with_keys_leaves_no_core_dump(cluster):
    def crash(name, pid):
        jump_to_nowhere(pid)
        eventually(lambda: not processes.is_alive(pid), 30, "%s ends" % name)
        assert not dumps(cluster), name  # the kernel writes it before the process is gone
    control = cluster.start("control", ["sleep", "1000"], limits=unlimited)
    jump_to_nowhere(control.pid)
    eventually(lambda: dumps(cluster), 30, "what has no keys leaves a dump")
    for path in dumps(cluster):
        path.unlink()
    ring = Ring(cluster, 2)
    one = ring.start(["--connect_timeout", 60], only=[0], limits=unlimited)[0]
    eventually(lambda: listens(ring.ports[0]), 20, "ms-ring waits for its neighbours")
    crash("ms-ring", one.pid)

    job = Job(cluster, "variable")
    scheduler = job.start_scheduler(limits=unlimited)
    ctl = cluster.start("ctl", ["ms-ctl", *cluster.agent_words(), "--tls_config", job.folders["admin"].config, "watch"],
                        env=job.env("admin"), limits=unlimited)
    agent = job.start_agent("a", ["sh", "-c", WAIT_FOR_GO], limits=unlimited)
    agent.expect_said("2 of 4 workers", 30)
    eventually(ctl.output, 20, "ms-ctl shows something")
    crash("ms-keeper", processes.named("ms-keeper", agent.pid)[0].pid)
    second = job.start_agent("b", ["sh", "-c", WAIT_FOR_GO], limits=unlimited)
    second.expect_said("of 4 workers", 30)
    crash("ms-worker", second.pid)
    crash("ms-ctl", ctl.pid)
    crash("ms-scheduler", scheduler.pid)


@needs_dumps
def test_a_training_process_behind_the_preflight_keeps_its_core_limit(cluster):
    job = Job(cluster, "file")
    job.start_scheduler()
    crash = ["sh", "-c", "ulimit -c > limit-$RANK; [ $RANK != 3 ] || kill -ABRT $$; " + WAIT_FOR_GO]
    for agent in [job.start_agent(node, crash, limits=unlimited) for node in ("a", "b")]:
        assert agent.wait(60) != 0
    assert (cluster.folder / "limit-3").read_text() == "unlimited\n"
    assert dumps(cluster), "the one that crashed left its dump"
