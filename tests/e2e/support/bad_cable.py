"""A cable between two machines (netns.py) that can be made bad: cut in either direction, or losing and delaying frames.

A thread of the test passes each frame from the network device of one machine to that of the other. So neither end can
distinguish a cut from silence (its link stays up), and no kernel module for bad networks is needed.
"""

import fcntl
import heapq
import itertools
import os
import random
import selectors
import struct
import subprocess
import threading
import time

import pytest

_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454ca, 0x2, 0x1000
_numbers = itertools.count(1)


def _ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, timeout=20)


def _open_end(machine, address, hardware):
    """The machine's eth0; reading its descriptor gives the frames that the machine sends."""
    name = "mst%d.%d" % (os.getpid(), next(_numbers))
    try:
        end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    except OSError as error:
        pytest.skip("no network devices of our own here: %s" % error)
    _ip("link", "set", name, "netns", machine.name, "name", "eth0", "address", hardware)
    machine.ip("addr", "add", address + "/24", "dev", "eth0")
    machine.ip("link", "set", "eth0", "up")
    machine.address = address
    return end


class BadCable:
    """A cable, good until a method changes it. Direction 0 is from the first machine to the second, 1 the way back."""

    def __init__(self, first, second, seed):
        self._chance = random.Random(seed)
        self._is_cut, self._loss, self._delay, self._jitter = [False, False], 0, 0, 0
        self._ends = []
        self.sent, self.lost = 0, 0  # counts of frames
        addresses = [(first, "10.77.2.1", "02:00:00:00:00:01"), (second, "10.77.2.2", "02:00:00:00:00:02")]
        for (machine, address, hardware), (_, other, other_hardware) in zip(addresses, reversed(addresses)):
            self._ends.append(_open_end(machine, address, hardware))
            # Otherwise a machine would soon report that its ARP requests get no answer, instead of being silent.
            machine.ip("neigh", "add", other, "lladdr", other_hardware, "dev", "eth0", "nud", "permanent")
        self._wake, self._woken = os.pipe()
        self._thread = threading.Thread(target=self._carry, daemon=True)
        self._thread.start()

    def cut(self, *directions):
        for direction in directions or (0, 1):
            self._is_cut[direction] = True

    def spoil(self, loss, delay, jitter):
        """In both directions, every frame is lost with this chance, or comes after delay +- jitter seconds, in any
        order."""
        self._loss, self._delay, self._jitter = loss, delay, jitter

    def heal(self):
        self._is_cut, self._loss, self._delay, self._jitter = [False, False], 0, 0, 0

    def close(self):
        os.close(self._woken)
        self._thread.join()
        for descriptor in [*self._ends, self._wake]:
            os.close(descriptor)

    def _carry(self):
        selector, order, late = selectors.DefaultSelector(), itertools.count(), []
        for direction, end in enumerate(self._ends):
            selector.register(end, selectors.EVENT_READ, direction)
        selector.register(self._wake, selectors.EVENT_READ, None)
        while True:
            pause = max(0, late[0][0] - time.monotonic()) if late else None
            for key, _ in selector.select(pause):
                if key.data is None:
                    return
                self._take(key.data, order, late)
            while late and late[0][0] <= time.monotonic():
                _, _, direction, frame = heapq.heappop(late)
                self._deliver(direction, frame)

    def _take(self, direction, order, late):
        try:
            frame = os.read(self._ends[direction], 65536)
        except (BlockingIOError, OSError):
            return
        self.sent += 1
        if self._is_cut[direction] or self._chance.random() < self._loss:
            self.lost += 1
            return
        due = time.monotonic() + self._delay + self._chance.uniform(-self._jitter, self._jitter)
        heapq.heappush(late, (due, next(order), direction, frame))

    def _deliver(self, direction, frame):
        try:
            os.write(self._ends[1 - direction], frame)
        except OSError:
            pass  # the device is full or not up: the frame is lost, as on any cable
