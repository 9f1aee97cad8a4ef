#!/usr/bin/env python3
"""Node check: how fast one core of this node is, for a comparison of the nodes.

    python3 speed.py [--with numpy|torch|python] [--seconds 3]

Times a fixed amount of work in one thread: ten matrix products, and ten copies of 64 MiB in memory. The last line is
muster-score=SECONDS, the best time of the products plus the best time of the copies. Muster compares this score over
the nodes, and names a node that needs more than twice the median. The score shows a CPU that throttles, a limit on its
time (a CPU quota), slow memory, or a processor that is shared with others. It does not show GPUs or NPUs.
Uses numpy, else torch, else plain Python. Scores of different ways can't be compared: pass --with to set one.
Measures at least once, and then again until --seconds are over, at most five times.
Exit code: 0 measured; 2 wrong words; 3 the way of --with can't be imported. No speed is a failure by itself.
"""
import argparse
import os
import sys
import time

COPY_BYTES = 64 << 20  # more than most last-level caches
MATRIX = 1024
PYTHON_MATRIX = 96
WORK = 10  # products and copies of one measurement: it must be longer than the period of a CPU quota, 100 ms
REPETITIONS = 5


def with_numpy():
    import numpy
    generator = numpy.random.default_rng(1)
    left = generator.random((MATRIX, MATRIX), dtype=numpy.float32)
    right = generator.random((MATRIX, MATRIX), dtype=numpy.float32)
    product = numpy.zeros_like(left)
    source = numpy.ones(COPY_BYTES, dtype=numpy.uint8)
    target = numpy.ones_like(source)
    return ("numpy " + numpy.__version__, lambda: numpy.matmul(left, right, out=product),
            lambda: numpy.copyto(target, source))


def with_torch():
    import torch
    torch.set_num_threads(1)
    left, right = torch.rand(MATRIX, MATRIX), torch.rand(MATRIX, MATRIX)
    product = torch.zeros(MATRIX, MATRIX)
    source = torch.ones(COPY_BYTES, dtype=torch.uint8)
    target = torch.ones_like(source)
    return "torch " + torch.__version__, lambda: torch.mm(left, right, out=product), lambda: target.copy_(source)


def with_python():
    rows = [[float(row * column % 7) for column in range(PYTHON_MATRIX)] for row in range(PYTHON_MATRIX)]
    columns = list(zip(*rows))
    source = bytes(COPY_BYTES)
    target = bytearray(b"\1") * COPY_BYTES
    view = memoryview(target)

    def multiply():
        return [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in rows]

    def copy():
        view[:] = source
    return "Python %d.%d" % sys.version_info[:2], multiply, copy


WAYS = {"numpy": with_numpy, "torch": with_torch, "python": with_python}


def prepare(chosen):
    """Returns (name, multiply, copy) of the chosen way, or of the first that can be imported."""
    for name in [chosen] if chosen else WAYS:
        try:
            return WAYS[name]()
        except Exception as error:  # a broken installation raises more than ImportError
            if chosen:
                sys.exit(fail("%s can't be used by %s: %s" % (chosen, sys.executable, error)))
    raise AssertionError("plain Python needs no import")


def fail(reason):
    print("speed: " + " ".join(reason.split()))
    return 3


def timed(work):
    begin = time.perf_counter()
    for _ in range(WORK):
        work()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description="Times a fixed amount of work on one core.")
    parser.add_argument("--with", dest="way", choices=WAYS, help="the same way on all nodes")
    parser.add_argument("--seconds", type=float, default=3, help="longest time of the measurement")
    words = parser.parse_args()
    # The libraries read these when they are imported.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
        os.environ[name] = "1"

    name, multiply, copy = prepare(words.way)
    end = time.monotonic() + words.seconds
    products, copies = [timed(multiply)], [timed(copy)]
    while len(products) < REPETITIONS and time.monotonic() < end:
        products.append(timed(multiply))
        copies.append(timed(copy))
    # Other processes can only make a run slower, so that the best one is closest to what the node can do.
    product_s, copy_s = min(products), min(copies)
    print("speed: %s: %d products %.0f ms, %d copies %.0f ms (%.1f GB/s), best of %d" %
          (name, WORK, product_s * 1e3, WORK, copy_s * 1e3, WORK * COPY_BYTES / copy_s / 1e9, len(products)))
    print("muster-score=%.6f" % (product_s + copy_s))
    return 0


if __name__ == "__main__":
    sys.exit(main())
