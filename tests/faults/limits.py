"""Hits the machine's limits: processes (a control group), failing system calls, the wall clock."""

import os
import pathlib
import time

import pytest

# In the syntax of strace: which calls fail, and how.
FAILING_CALLS = [
    "openat,socket,accept4,pipe2,dup,dup3,eventfd2,epoll_create1,pidfd_open,socketpair:error=EMFILE",
    "openat,socket,accept4,pipe2,eventfd2,pidfd_open:error=ENFILE",
    "openat,getdents64:error=EIO",
    "getdents64:error=EIO",
    "clone,clone3,fork,vfork:error=EAGAIN",
    "pwrite64,fdatasync,fsync,ftruncate:error=ENOSPC",
    "pwrite64,fdatasync,fsync:error=EIO",
    "connect:error=ETIMEDOUT",
    "connect,sendto:error=ENOBUFS",  # (not sendmsg for TCP: Linux never returns it there, and gRPC waits for ever)
    "mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat:error=ENOSPC",
]

_ROOTS = (pathlib.Path("/sys/fs/cgroup/pids"), pathlib.Path("/sys/fs/cgroup"))


class ProcessLimit:
    """A control group of its own with a limit of processes and threads."""

    def __init__(self, name):
        root = next((root for root in _ROOTS if (root / "cgroup.procs").exists()), None)
        self._path = root / ("muster-faults-" + name) if root else None
        try:
            self._path.mkdir()
            (self._path / "pids.max").read_text()
        except (OSError, AttributeError) as error:
            pytest.skip("no control group for processes: %s" % error)
        self._parent = root

    def take(self, pids):
        for pid in pids:
            try:
                (self._path / "cgroup.procs").write_text(str(pid))
            except OSError:
                pass  # it ended in the meantime

    def count(self):
        return int((self._path / "pids.current").read_text())

    def limit_to(self, count):
        (self._path / "pids.max").write_text(str(count))

    def enter(self):
        """Called in a new process, before its program runs."""
        (self._path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self):
        """Moves its processes back to the parent group."""
        (self._path / "pids.max").write_text("max")
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            for pid in (self._path / "cgroup.procs").read_text().split():
                try:
                    (self._parent / "cgroup.procs").write_text(pid)
                except OSError:
                    pass
            try:
                return self._path.rmdir()
            except OSError:
                time.sleep(0.02)  # it forks, or is a zombie


def step_wall_clock(seconds):
    """Sets the wall clock of the present kernel; called only in a kernel of our own."""
    assert os.environ.get("MUSTER_OWN_KERNEL") == "1", "this would set the machine's own clock"
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
