"""What every measuring program written in Python shares: figures from /proc, and the one line of JSON that run.py reads.

A measuring program does one measurement, prints one JSON object as the last line of stdout and ends with 0; when it
fails it ends with another code and says why on stderr. Times are seconds, sizes MB of 2^20 bytes.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

_TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """The measurement could not be made; the message says why."""


def cpu_seconds(pid):
    """What a process has used until now, with its threads and without its children: user + system."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid, name="VmHWM"):
    """VmHWM: the most it ever had resident; VmRSS: what it has now."""
    with open("/proc/%d/status" % pid) as file:
        for line in file:
            if line.startswith(name + ":"):
                return round(int(line.split()[1]) / 1024, 2)
    raise Failed("process %d has no %s" % (pid, name))


def pss_mb(pid):
    """Its share of memory: pages that several processes map count in parts."""
    with open("/proc/%d/smaps_rollup" % pid) as file:
        for line in file:
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    raise Failed("process %d has no Pss" % pid)


def available_mb():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("MemAvailable")) / 1024


def wait_until(condition, timeout, what, pause=0.01):
    """The value of condition() once it is true."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed("not within %d s: %s" % (timeout, what))
        time.sleep(pause)


class Server:
    """A program in the background with its output in a file; use as a context."""

    def __init__(self, argv, env=None):
        self.log = tempfile.NamedTemporaryFile(prefix="muster-bench-", suffix=".log")
        self.argv = [str(word) for word in argv]
        self.popen = subprocess.Popen(self.argv, env=env, stdin=subprocess.DEVNULL, stdout=self.log,
                                      stderr=subprocess.STDOUT)
        self.pid = self.popen.pid

    def output(self):
        with open(self.log.name, errors="replace") as file:
            return file.read()

    def expect(self, look, timeout=30):
        """Waits until look(output) is true and returns that."""
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


def become_main(measure):
    """Runs measure() -> dict as a program and ends."""
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
