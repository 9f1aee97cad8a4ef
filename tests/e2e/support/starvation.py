"""Whether the machine left the tests no processor: a thread of this process that wants to run each 50 ms measures how late
it did. Time bounds say nothing then.

A test that failed in such a moment is written into the file that MUSTER_STARVED names, and so is each that failed while
others ran beside it (a worker of pytest-xdist); tests/run.sh runs them once more, alone. What fails without that is a
failure."""

import os
import threading
import time

TURN = 0.05
BUSY = 0.5  # so late that a bound of a second or two means nothing

_late = []  # (when it ran, how late); only what is BUSY


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
    """`begin`: when the test that has failed began, as time.time() tells it."""
    path = os.environ.get("MUSTER_STARVED")
    worst = max((late for when, late in _late if when >= begin), default=None)
    has_neighbours = "PYTEST_XDIST_WORKER" in os.environ
    if not path or (worst is None and not has_neighbours):
        return
    print("the machine left this test no processor for %.1f s" % (worst or 0))
    with open(path, "a") as file:
        file.write("%s\n" % test.split("@")[0])  # without the group that xdist adds
