"""MindSpore 2.10.0 sometimes dies of SIGSEGV after a script's last line, while it shuts down, also under its own
scheduler (docs/frameworks/mindspore.md). This module distinguishes that crash from every other death: a test that meets
it starts again, with a warning; any other death fails the test.

    a process          killed by SIGSEGV, its last line printed            MindSpore's own crash
    an agent           says that rank N was, and rank N's line is printed  MindSpore's own crash
    any other code, signal, or SIGSEGV before that line                    a failure
"""

import functools
import re
import signal
import warnings

import pytest

from muster import Cluster

LAST_WORDS = "final loss|nothing left"  # of train_mindspore.py, once the training is done
ATTEMPTS = 3


class CrashedAtItsEnd(Exception):
    """MindSpore's own crash, described in words."""


def _own_crash(program, all_output):
    """Describes how MindSpore's own crash ended the program; None if that is not so."""
    said = program.our_lines()
    if not said:
        is_done = program.popen.returncode == -signal.SIGSEGV and re.search(LAST_WORDS, program.output())
        return "%s died of SIGSEGV after its last line" % program.name if is_done else None
    victim = re.search(r" failed: rank (\d+) on \S+ \(node \S+\) was killed by SIGSEGV", said[-1])
    if victim and re.search(r"^\[rank %s\] (%s)" % (victim.group(1), LAST_WORDS), all_output, re.MULTILINE):
        return "rank %s died of SIGSEGV after its last line" % victim.group(1)
    return None


def expect_ends(programs, timeout=300):
    """Fails unless all programs end with 0. Raises CrashedAtItsEnd if MindSpore's own crash alone prevented that."""
    codes = [program.wait(timeout) for program in programs]
    all_output = "\n".join(program.output() for program in programs)
    crashes = [_own_crash(program, all_output) for program, code in zip(programs, codes) if code != 0]
    if crashes and all(crashes):
        raise CrashedAtItsEnd("; ".join(crashes))
    for program in programs:
        program.expect(0)


def begins_anew_after_its_crash(test):
    """Runs a test, which waits for its programs with expect_ends, up to three times, each time in a cluster of its
    own."""
    @functools.wraps(test)
    def run(cluster, **fixtures):
        own = cluster
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return test(cluster=own, **fixtures)
            except CrashedAtItsEnd as crash:
                if attempt == ATTEMPTS:
                    raise
                warnings.warn(pytest.PytestWarning("MindSpore's own crash: %s; the test begins anew" % crash))
            finally:
                if own is not cluster:
                    cluster.programs.extend(own.programs)  # for the report
            own.close()
            folder = cluster.folder / ("anew%d" % attempt)
            folder.mkdir()
            own = Cluster(folder)
    return run
