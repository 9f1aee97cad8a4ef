"""The parts that all measuring programs in Python share: figures from /proc, and the line of JSON that run.py reads.

A measuring program does one measurement, prints one JSON object as the last line of stdout and ends with 0. If it
fails, it ends with another code and reports the reason on stderr. Times are seconds, sizes MB of 2^20 bytes.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("MUSTER_BIN", ROOT / "build" / "bin"))
_TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """The measurement could not be made; the message gives the reason."""


def cpu_seconds(pid):
    """The processor time that a process and its threads have used so far, user + system, without its children."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid, name="VmHWM"):
    """VmHWM: the most memory that the process ever had resident; VmRSS: its resident memory now."""
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(name + ":"):
                return round(int(line.split()[1]) / 1024, 2)
    raise Failed("process %d has no %s" % (pid, name))


def pss_mb(pid):
    """The process's share of memory: pages that several processes map count in parts."""
    with open("/proc/%d/smaps_rollup" % pid) as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    raise Failed("process %d has no Pss" % pid)


def available_mb():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) / 1024


def wait_until(condition, timeout, what, pause=0.01):
    """Returns the value of condition() once it is true."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed("not within %d s: %s" % (timeout, what))
        time.sleep(pause)


def end_gently(popen, timeout=20):
    """Sends SIGTERM first, so that the program can end what it has started."""
    if popen.poll() is None:
        popen.terminate()
        try:
            popen.wait(timeout)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()


def leave_on_sigterm():
    """Makes SIGTERM exit through Python, so that the program still ends what it has started."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


class Server:
    """A program in the background with its output in a file; use as a context."""

    def __init__(self, argv, env=None, stays_open=False):
        """stays_open: keep the server's stdin open until this process ends."""
        self.log = tempfile.NamedTemporaryFile(prefix="muster-bench-", suffix=".log")
        self.argv = [str(word) for word in argv]
        self.popen = subprocess.Popen(self.argv, env=env, stdout=self.log, stderr=subprocess.STDOUT,
                                      stdin=subprocess.PIPE if stays_open else subprocess.DEVNULL)
        self.pid = self.popen.pid

    def output(self):
        with open(self.log.name, errors="replace") as file:
            return file.read()

    def expect(self, look, timeout=30):
        """Waits until look(output) is true and returns its value."""
        def ready():
            found = look(self.output())
            if not found and self.popen.poll() is not None:
                raise Failed("%s ended with %d: %s" % (self.argv[0], self.popen.returncode, self.output()[-2000:]))
            return found
        return wait_until(ready, timeout, "%s is ready; it says: %s" % (self.argv[0], self.output()[-500:]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self.log.close()

    def kill(self):
        self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()


def free_ports(count):
    """Finds free ports of 127.0.0.1, for programs that can't choose their own."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def load_options():
    """Reads the command line of a peer that peer_load drives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", choices=("form", "heartbeat"), required=True)
    parser.add_argument("--agents", type=int, required=True)
    parser.add_argument("--window", type=float, default=20)
    parser.add_argument("--interval", type=float, default=5)
    return parser.parse_args()


def run_load(subject, options, target, server_pid):
    """Returns peer_load's result."""
    words = [BIN / "peer_load", "--subject=" + subject, "--measure=" + options.measure, "--target=" + target,
             "--agents=%d" % options.agents, "--server_pid=%d" % server_pid]
    if options.measure == "heartbeat":
        words += ["--window=%g" % options.window, "--interval=%g" % options.interval]
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)
    if done.returncode != 0:
        raise Failed("peer_load ended with %d: %s" % (done.returncode, done.stderr[-2000:]))
    return json.loads(done.stdout.splitlines()[-1])


def become_main(measure):
    """Runs measure() -> dict as a program, prints its JSON and ends."""
    leave_on_sigterm()
    try:
        result = measure()
    except (Failed, OSError, subprocess.SubprocessError) as error:
        print("%s: %s" % (sys.argv[0], error), file=sys.stderr)
        sys.exit(1)
    result.setdefault("security", "plain")
    result.setdefault("slots", 1)
    result.setdefault("failed", 0)
    print(json.dumps(result), flush=True)
    sys.exit(0)
