"""Reads the notes of holder.py's processes, and finds ranks that live twice, which must never happen."""

import collections
import re

Life = collections.namedtuple("Life", "run round rank node pid start last")

NAME = re.compile(r"run(\d+)\.round(\d+)\.rank(\d+)\.(\d+)\.life$")


def read(folder):
    """For each process that wrote a note: when the kernel started it, and the last instant at which it surely lived."""
    lives = []
    for path in sorted(folder.glob("*.life")):
        run, number, rank, pid = map(int, NAME.match(path.name).groups())
        lines = path.read_text().split("\n")[:-1]  # a last line without its end is incomplete
        if not lines:
            continue
        node, start = lines[0].split()
        lives.append(Life(run, number, rank, node, pid, float(start), float(lines[-1].split()[-1])))
    return lives


def _by_rank(lives):
    ranks = collections.defaultdict(list)
    for life in lives:
        ranks[life.run, life.rank].append(life)
    return [sorted(held, key=lambda life: (life.start, life.round)) for held in ranks.values()]


def faults(lives):
    """Every two processes of one rank that lived at the same time, in any rounds, and every round that began after a
    later one."""
    found = []
    for held in _by_rank(lives):
        for i, first in enumerate(held):
            for second in held[i + 1:]:
                if second.start <= first.last:
                    found.append("lived at once for %.3f s: %s and %s" % (
                        min(first.last, second.last) - second.start, first, second))
                if second.round < first.round:
                    found.append("%s began after %s" % (second, first))
    return found


def closest(lives):
    """The shortest time between the end of one holder of a rank and the start of the next on another node; None if
    there was no such change."""
    gaps = [second.start - first.last for held in _by_rank(lives) for first, second in zip(held, held[1:])
            if first.node != second.node]
    return min(gaps, default=None)
