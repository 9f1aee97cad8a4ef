"""Samples the memory and descriptors of the long-lived programs while an episode runs."""

import collections
import os

SAMPLED = ("agent", "keeper", "guardian", "shim")


def _resident_kb(pid):
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Usage:
    """`samples`: {program: [(seconds since it was first seen, kB resident, descriptors)]}."""

    def __init__(self, interval=1.0):
        self.interval, self.samples = interval, collections.defaultdict(list)
        self._next, self._first = 0, {}

    def is_due(self, now):
        return now >= self._next

    def summary(self):
        """Takes the program with the most samples of each role and shows its figures at five points of its life."""
        longest = {}
        for name, series in sorted(self.samples.items()):
            role = name.split()[0]
            if len(series) > len(longest.get(role, ("", []))[1]):
                longest[role] = (name, series)
        told = []
        for name, series in longest.values():
            points = [series[(len(series) - 1) * i // 4] for i in range(5)]
            told.append("%s: %s kB, %s descriptors in %.0f s" % (
                name, " ".join(str(point[1]) for point in points), " ".join(str(point[2]) for point in points),
                series[-1][0]))
        return "; ".join(told)

    def sample(self, now, cluster):
        self._next = now + self.interval
        found = [("%s of %s" % (part.role, part.node), part.pid) for part in cluster.parts() if part.role in SAMPLED]
        if cluster.scheduler.is_running():
            found.append(("scheduler", cluster.scheduler.pid()))
        for name, pid in found:
            try:
                held = _resident_kb(pid), len(os.listdir("/proc/%d/fd" % pid))
            except (OSError, StopIteration):
                continue  # it ended in the meantime
            name = "%s (%d)" % (name, pid)
            self.samples[name].append((now - self._first.setdefault(name, now), *held))
