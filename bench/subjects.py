"""The things to measure: each function here gives a callable that takes one measurement and returns its JSON as a dict.

A callable raises Missing when something it needs isn't installed, and measuring.Failed when the measurement failed.
"""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading

from measuring import BIN, Failed, Server, end_gently, free_ports, memory_mb

HERE = pathlib.Path(__file__).resolve().parent
_PATIENCE_S = 1800


class Missing(Exception):
    """Something isn't installed; the message says what and why."""


@functools.lru_cache(maxsize=None)
def certificates():
    """Makes a folder with an authority, a certificate for the scheduler and one that may claim any node id (ECDSA
    P-256)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-bench-certs-")) / "ca"
    for words in (["init"], ["scheduler", "--host", "127.0.0.1"], ["node", "--host", "load"]):
        subprocess.run([BIN / "ms-ctl", "certs", *words, "--dir", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def remove_certificates():
    if certificates.cache_info().currsize:
        shutil.rmtree(certificates().parent, ignore_errors=True)


def last_json(argv, output):
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    raise Failed("%s printed no JSON" % argv[0])


def run_program(argv, env=None, log=None):
    """Runs a measuring program and returns its JSON."""
    argv = [str(word) for word in argv]
    note_command(log, argv)
    program = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        output, errors = program.communicate(timeout=_PATIENCE_S)
    finally:
        end_gently(program)  # it still runs only when something has gone wrong
    if program.returncode != 0:
        raise Failed("%s ended with %d: %s" % (shlex.join(argv), program.returncode, errors.strip()[-600:]))
    return last_json(argv, output)


def note_command(log, argv):
    if log is not None:
        log.append(shlex.join(str(word) for word in argv))


class _Target:
    """The server of one measurement, Muster's or the floor's, which can be killed and started again on its port."""

    def __init__(self, subject, slots, security, journal):
        self.folder = tempfile.mkdtemp(prefix="muster-bench-", dir="/var/tmp")
        self.port, = free_ports(1)
        tls = ["--tls_config", certificates() / "scheduler" / "tls.json"] if security == "mtls" else []
        if subject.startswith("floor"):
            checks = ["--watches_locks=false"] if subject == "floor-unwatched" else []
            self.argv = [BIN / "floor_server", "--port", self.port, "--slots", slots, *checks, *tls]
        else:
            path = pathlib.Path(self.folder) / "journal.db" if journal == "file" else "memory"
            self.argv = [BIN / "ms-scheduler", "--sched_host", "127.0.0.1", "--sched_port", self.port, "--journal_path",
                         path, "--admin_socket", pathlib.Path(self.folder) / "admin", *tls]
        # A scheduler also reads MS_ variables: it must not get the caller's.
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("MS_")}

    def start(self):
        self.server = Server(self.argv, env=self.env)
        self.server.expect(lambda text: re.search(r"listening on|^port \d+", text, re.MULTILINE))
        return self.server

    def close(self):
        self.server.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Memory:
    """Reads a process's memory every second until end()."""

    def __init__(self, pid):
        self.pid, self.samples, self.has_ended = pid, [], threading.Event()
        self.thread = threading.Thread(target=self._look)
        self.thread.start()

    def _look(self):
        while not self.has_ended.wait(1):
            self.samples.append(memory_mb(self.pid, "VmRSS"))

    def end(self):
        self.has_ended.set()
        self.thread.join()
        late = self.samples[-300:]
        return {"late_growth_mb": round(max(late) - late[0], 2), "late_rss_mb": late[-1]} if late else {}


def load(subject, measure, agents, slots=8, security="plain", journal="file", words=(), watches_memory=False):
    """Runs muster_load against muster or the floor ("floor-unwatched": without Abseil's debugging checks). journal:
    file (SQLite, synced; the default of the scheduler) or memory. watches_memory: also reports how much the server's
    memory has grown in the last 5 minutes."""
    def take(log=None):
        target = _Target(subject, slots, security, journal)
        try:
            server = target.start()
            note_command(log, target.argv)
            argv = [BIN / "muster_load", "--measure=" + measure, "--target=127.0.0.1:%d" % target.port,
                    "--subject=" + subject.partition("-")[0], "--agents=%d" % agents, "--slots=%d" % slots,
                    "--server_pid=%d" % server.pid, *words]
            if security == "mtls":
                argv.append("--tls_config=%s" % (certificates() / "host-load" / "tls.json"))
            memory = _Memory(server.pid) if watches_memory else None
            result = _reconnect(argv, target, log) if measure == "reconnect" else run_program(argv, target.env, log)
            return dict(result, journal=journal, **(memory.end() if memory else {}))
        finally:
            target.close()
    return take


def _reconnect(argv, target, log):
    """The generator reports when all agents are in; then the server is killed and started again, and the generator goes
    on."""
    note_command(log, argv)
    with tempfile.TemporaryFile("w+") as errors:
        generator = subprocess.Popen([str(word) for word in argv], env=target.env, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            line = generator.stdout.readline()
            if line.strip() == "ready":
                target.server.kill()
                target.start()
            output = generator.communicate(timeout=_PATIENCE_S)[0]
        finally:
            end_gently(generator)
        errors.seek(0)
        if generator.returncode != 0:
            raise Failed("%s ended with %d: %s" % (shlex.join(map(str, argv)), generator.returncode,
                                                   errors.read()[-600:]))
    return last_json(argv, output)


def python_of(name):
    """The python of a virtual environment that run.sh has made: torch or mindspore."""
    path = os.environ.get("MUSTER_BENCH_%s_PYTHON" % name.upper(), "")
    if not path:
        raise Missing(os.environ.get("MUSTER_BENCH_%s_WHY" % name.upper(), "") or
                      "no Python with %s; run.sh makes one" % name)
    return path


def peer(script, *words, python=None):
    """Runs one of peers/*.py with the python of that environment."""
    def take(log=None):
        if script == "etcd.py" and shutil.which("etcd") is None:
            raise Missing("etcd is not installed (Debian's package etcd-server)")
        env = dict(os.environ)
        if script == "torchft_lighthouse.py":
            folder = os.environ.get("MUSTER_BENCH_TORCHFT", "")
            if not folder:
                raise Missing(os.environ.get("MUSTER_BENCH_TORCHFT_WHY", "") or "the wheel torchft is not installed")
            env["PYTHONPATH"] = folder
        return run_program([python_of(python) if python else sys.executable, HERE / "peers" / script, *words], env, log)
    return take


def agents(measure, count, *words):
    """Runs agents.py: the real programs."""
    argv = [sys.executable, HERE / "agents.py", "--measure", measure, "--agents", count, *words]
    return lambda log=None: run_program(argv, log=log)


def core():
    """Runs Google Benchmark over the scheduler's core: {name: {"rate": items a second, "ms": time of one
    iteration}}."""
    def take(log=None):
        if not (BIN / "core_bench").exists():
            raise Missing("core_bench was not built (Debian's package libbenchmark-dev)")
        argv = [str(BIN / "core_bench"), "--benchmark_format=json", "--benchmark_min_time=0.3"]
        note_command(log, argv)
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=_PATIENCE_S)
        if done.returncode != 0:
            raise Failed("core_bench ended with %d: %s" % (done.returncode, done.stderr[-600:]))
        units = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
        return {entry["name"]: {"rate": entry.get("items_per_second"),
                                "ms": entry["real_time"] * units[entry["time_unit"]]}
                for entry in json.loads(done.stdout)["benchmarks"] if "real_time" in entry}
    return take
