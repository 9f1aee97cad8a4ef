"""Control groups of version 1 or 2. They limit programs to a part of a processor, a size of memory or a number of
processes."""

import os
import pathlib

import pytest

import muster

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100000


def _write(file, text):
    """Writes only to an existing file: if the kernel has made none, the setting does not exist."""
    with open(file, "r+") as opened:
        opened.write(text)


class ControlGroup:
    """Programs started with limits=group.enter are in it. Raises OSError, PermissionError for example, if there can be
    no such group. The programs must have ended before close()."""

    def __init__(self, controller, root=ROOT):
        self.is_v2 = (root / "cgroup.controllers").exists()
        parent = root if self.is_v2 else root / controller
        self.folder = parent / ("muster-%s-%d" % (controller, os.getpid()))
        self.folder.mkdir()
        try:
            if self.is_v2 and controller not in (self.folder / "cgroup.controllers").read_text().split():
                _write(parent / "cgroup.subtree_control", "+" + controller)
        except OSError:
            self.folder.rmdir()
            raise

    def set(self, name, value):
        try:
            _write(self.folder / name, str(value))
        except OSError:
            self.folder.rmdir()
            raise

    def enter(self):
        """Moves the calling process into the group."""
        _write(self.folder / "cgroup.procs", str(os.getpid()))

    def close(self):
        def is_gone():
            try:
                self.folder.rmdir()
            except OSError:
                return False  # the last process is about to end
            return True
        muster.eventually(is_gone, 10, "%s is empty" % self.folder)


class CpuGroup(ControlGroup):
    """Limits its programs to this many processors together."""

    def __init__(self, processors):
        super().__init__("cpu")
        quota_us = int(processors * PERIOD_US)
        if self.is_v2:
            self.set("cpu.max", "%d %d" % (quota_us, PERIOD_US))
        else:
            self.set("cpu.cfs_period_us", PERIOD_US)
            self.set("cpu.cfs_quota_us", quota_us)

    def periods_held(self):
        """How often its programs had to wait for the next period."""
        stat = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(stat["nr_throttled"])


class MemoryGroup(ControlGroup):
    """Limits its programs to this many bytes together; the kernel kills a program if they need more."""

    def __init__(self, most):
        super().__init__("memory")
        self.set("memory.max" if self.is_v2 else "memory.limit_in_bytes", most)
        if self.is_v2 and (self.folder / "memory.swap.max").exists():
            self.set("memory.swap.max", 0)


class PidsGroup(ControlGroup):
    """Limits its programs to a number of processes and threads together, which allow() sets."""

    def __init__(self):
        super().__init__("pids")

    def allow(self, count):
        self.set("pids.max", count)


def make_or_skip(kind, *words):
    try:
        return kind(*words)
    except OSError as error:
        return pytest.skip("no control group that could be a %s%s: %s" % (kind.__name__, words, error))
