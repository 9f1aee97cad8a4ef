"""Finds out whether the tests had no processor for a while: a thread that wants to run every 50 ms measures how late it
runs. Time limits of tests mean nothing at such moments.

A test that failed at such a moment is written into the file that MUSTER_STARVED names. So is each test that failed while
others ran beside it (in a worker of pytest-xdist). tests/run.sh runs these again, alone. A test that fails otherwise has
failed."""

import os
import threading
import time

TURN = 0.05
BUSY = 0.5  # so late that a bound of a second or two means nothing

_late = []  # (when it ran, how late); only delays from BUSY on


def begin():
    threading.Thread(target=_measure, daemon=True).start()


def _measure():
    before = time.monotonic()
    while True:
        time.sleep(TURN)
        now = time.monotonic()
        if now - before - TURN > BUSY:
            _late.append((time.time(), now - before - TURN))
        before = now


def note(test, begin):
    """`begin`: when the failed test began, by time.time()."""
    path = os.environ.get("MUSTER_STARVED")
    worst = max((late for when, late in _late if when >= begin), default=None)
    has_neighbours = "PYTEST_XDIST_WORKER" in os.environ
    if not path or (worst is None and not has_neighbours):
        return
    print("the machine left this test no processor for %.1f s" % (worst or 0))
    with open(path, "a") as file:
        file.write("%s\n" % test.split("@")[0])  # without the group that xdist adds
