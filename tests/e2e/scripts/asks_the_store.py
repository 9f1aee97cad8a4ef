"""One rank of a job that coordinates with muster.store() and muster.barrier(), and prints what it saw."""

import os
import signal
import sys
import threading
import time

import muster


def everything(rank, size):
    store = muster.store()
    assert store.get("nothing") is None and store.get("nothing", b"x") == b"x"
    store.set("mine/%d" % rank, "value of %d" % rank)
    muster.barrier("written", timeout=60)
    assert store.list("mine/") == {"mine/%d" % i: b"value of %d" % i for i in range(size)}
    assert store.wait("mine/%d" % (size - 1)) == b"value of %d" % (size - 1)

    store.add("sum", rank + 1)
    assert muster.store() is store
    first = store.insert_once("first", str(rank))
    for step in range(3):
        muster.barrier("step", timeout=60)
    assert store.get("sum") == b"%d" % (size * (size + 1) // 2)
    assert store.get("first") == first
    assert store.compare_and_set("first", "no rank", "nonsense") == first

    for turn in range(10):  # after a barrier no rank sees an older value
        if rank == 0:
            store.set("turn", str(turn))
        muster.barrier("turn", timeout=60)
        assert store.wait("turn") == b"%d" % turn
        muster.barrier("turn", timeout=60)

    if rank == 0:
        time.sleep(1)
        store.set("watched", "second", lifetime="run")
    assert store.watch("watched", timeout=30) == b"second"
    muster.barrier("all know the second", timeout=60)
    if rank == 0:
        time.sleep(1)
        store.set("watched", "third", lifetime="run")
    assert store.watch("watched", "second", timeout=30) == b"third"

    fails(TimeoutError, "'never' was not set within 0.5 s", lambda: store.wait("never", timeout=0.5))
    fails(TimeoutError, "'watched' did not change within 0.5 s", lambda: store.watch("watched", "third", timeout=0.5))
    fails(ValueError, "65536 bytes at most", lambda: store.set("large", bytes(65537)))
    fails(ValueError, "a key must be text", lambda: store.get("k" * 1001))
    fails(ValueError, "number", lambda: store.add("mine/%d" % rank))
    store.set("large/%d" % rank, bytes(65536))
    assert store.get("large/%d" % rank) == bytes(65536)

    # Threads, one of which waits, and a forked process: each has a connection of its own.
    found = []
    waiting = threading.Thread(target=lambda: found.append(store.wait("late/%d" % rank, timeout=30)))
    waiting.start()
    store.set("late/%d" % rank, "late")
    waiting.join()
    assert found == [b"late"]
    child = os.fork()
    if child == 0:
        store.set("child/%d" % rank, "born")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert store.get("child/%d" % rank) == b"born"
    store.delete("child/%d" % rank)
    assert store.get("child/%d" % rank) is None

    evens = range(0, size, 2)
    if rank in evens:
        muster.barrier("evens", evens, timeout=60)
    muster.barrier("end", timeout=60)
    print("rank %d has seen everything" % rank, flush=True)


def fails(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError("no %s" % kind.__name__)


def one_stays_away(rank, size):
    """The last rank never comes."""
    if rank < size - 1:
        try:
            muster.barrier("all", timeout=2)
        except TimeoutError as error:
            print("rank %d: %s" % (rank, error), flush=True)
    muster.store().add("done", 1)
    while muster.store().get("done") != b"%d" % size:
        time.sleep(0.1)


def dies(rank, size):
    """The last rank dies in the first round, while the others wait."""
    store = muster.store()
    if os.environ["MS_RESTART_COUNT"] == "0":
        store.set("of the round", "1")
        store.set("of the run", "1", lifetime="run")
        if rank == size - 1:
            while store.get("ready") != b"%d" % (size - 1):
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it comes at the same time
        store.add("ready", 1)
        try:
            muster.barrier("all", timeout=60)
        except muster.RoundOver as error:
            print("rank %d: round over: %s" % (rank, error), flush=True)
            raise
    assert store.get("of the round") is None, "a value of the former round"
    assert store.get("of the run") == b"1"
    print("rank %d came back" % rank, flush=True)


def counts(rank, size):
    """Adds one a hundred times, no matter what happens to the scheduler."""
    store = muster.store()
    for i in range(100):
        store.add("count", 1)
        if i == 20:
            print("rank %d counts" % rank, flush=True)
        time.sleep(0.02)
    muster.barrier("counted", timeout=60)
    print("rank %d: count=%s" % (rank, store.get("count").decode()), flush=True)


def reaches_nothing(rank, size):
    try:
        muster.barrier("all")
    except muster.StoreError as error:
        print("refused: %s" % error, flush=True)
    muster.store().set("still", "there")
    print("set: %s" % muster.store().get("still").decode(), flush=True)


globals()[sys.argv[1]](int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
