"""Control groups that hold programs to a part of a processor, of version 1 or 2."""

import os
import pathlib

import pytest

import muster

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100000


def _write(file, text):
    """Never makes the file: where the kernel has none, there is no such setting."""
    with open(file, "r+") as opened:
        opened.write(text)


class CpuGroup:
    """Programs started with limits=group.enter have so many processors together. Raises OSError where there can be no
    such group, PermissionError and the like. They must have ended before close()."""

    def __init__(self, processors, root=ROOT):
        self.is_v2 = (root / "cgroup.controllers").exists()
        parent = root if self.is_v2 else root / "cpu"
        self.folder = parent / ("muster-%d" % os.getpid())
        quota_us = int(processors * PERIOD_US)
        self.folder.mkdir()
        try:
            if self.is_v2:
                if not (self.folder / "cpu.max").exists():
                    _write(parent / "cgroup.subtree_control", "+cpu")
                _write(self.folder / "cpu.max", "%d %d" % (quota_us, PERIOD_US))
            else:
                _write(self.folder / "cpu.cfs_period_us", str(PERIOD_US))
                _write(self.folder / "cpu.cfs_quota_us", str(quota_us))
        except OSError:
            self.folder.rmdir()
            raise

    def enter(self):
        """Of the calling process."""
        _write(self.folder / "cgroup.procs", str(os.getpid()))

    def periods_held(self):
        """How often its programs had to wait for the next period."""
        stat = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(stat["nr_throttled"])

    def close(self):
        def is_gone():
            try:
                self.folder.rmdir()
            except OSError:
                return False  # the last of them is about to go
            return True
        muster.eventually(is_gone, 10, "%s is empty" % self.folder)


def make_or_skip(processors):
    try:
        return CpuGroup(processors)
    except OSError as error:
        return pytest.skip("no control group that holds programs to %g processors: %s" % (processors, error))
