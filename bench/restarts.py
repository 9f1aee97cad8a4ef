"""Kills one of N waiting processes (worker.sh) with SIGKILL, under any launcher, and measures when all others are gone
and when all are back."""

import os
import select
import signal
import time

from measuring import Failed, wait_until


class Notes:
    """Reads what the processes have noted in the file BENCH_NOTES."""

    def __init__(self, path):
        self.path = str(path)
        open(self.path, "w").close()

    def read(self):
        """Returns [(when it began, in seconds of the wall clock, pid)] in the order of notes."""
        with open(self.path) as file:
            lines = [line.split() for line in file if line.endswith("\n")]
        return [(float(line[0]), int(line[1])) for line in lines]

    def wait_for(self, count, timeout):
        return wait_until(lambda: len(self.read()) >= count and self.read(), timeout,
                          "%d processes have begun (%d have)" % (count, len(self.read())))


def _await_ends(pids, timeout):
    """Returns the instant (time.time()) at which the last of these processes has ended."""
    poll = select.poll()
    waiting = set()
    for pid in pids:
        try:
            waiting.add(os.pidfd_open(pid))
        except ProcessLookupError:
            continue
    for fd in waiting:
        poll.register(fd, select.POLLIN)
    deadline = time.monotonic() + timeout
    while waiting:
        ready = poll.poll(max(0, 1000 * (deadline - time.monotonic())))
        if not ready:
            raise Failed("%d processes still run %d s after the kill" % (len(waiting), timeout))
        for fd, _ in ready:
            poll.unregister(fd)
            os.close(fd)
            waiting.remove(fd)
    return time.time()


def kill_one(notes, count, timeout=120):
    """Kills the first of the `count` processes that run. Returns (seconds until the last old process was gone, seconds
    until the last new one had begun, wall clock of the kill)."""
    old = [pid for _, pid in notes.wait_for(count, timeout)]
    time.sleep(1)  # the work left over from the start is done
    killed = time.time()
    os.kill(old[0], signal.SIGKILL)
    stopped = _await_ends(old, timeout) - killed
    begun = [at for at, _ in notes.wait_for(2 * count, timeout)[count:]]
    return stopped, max(begun) - killed, killed
