"""A process that can't be killed, like one that hangs in the kernel: it is traced, and held at its exit."""

import ctypes
import os

import pytest

_PTRACE_DETACH, _PTRACE_SEIZE, _TRACE_EXIT = 17, 0x4206, 0x40
_WALL = 0x40000000


class Held:
    """Holds the process until `release`. Skips the test if the kernel does not allow a process to trace its
    descendants."""

    def __init__(self, pid):
        self.pid = pid
        libc = ctypes.CDLL(None, use_errno=True)
        self._ptrace = libc.ptrace
        self._ptrace.argtypes = [ctypes.c_long] * 4
        if self._ptrace(_PTRACE_SEIZE, pid, 0, _TRACE_EXIT) != 0:
            pytest.skip("no process may be traced here: %s" % os.strerror(ctypes.get_errno()))

    def release(self):
        """Call this after the process was killed; returns when it is at its exit."""
        os.waitpid(self.pid, _WALL)
        self._ptrace(_PTRACE_DETACH, self.pid, 0, 0)
