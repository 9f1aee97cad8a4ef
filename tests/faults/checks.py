"""Checks the rules that must be true after an episode. Each check takes observations and returns a list of violations.

| check | what must hold |
|---|---|
| no_rank_twice | of two holders of one rank of a run, in any round and attempt, one ends before the other begins |
| whole_moves | all ranks of a node stay, or go together to one node that had none |
| nothing_left | no process with the episode's mark in its environment, and none below the campaign |
| one_cause | every agent that saw the end of a failed run reports the same cause at its end |
| flat | memory and descriptors of a program don't grow while it runs |
"""

import collections
import os
import pathlib

MARK = "MUSTER_FAULTS_MARK"  # the environment variable that identifies an episode's processes


def overlaps(holders):
    """Yields every two holders of one rank of a run that lived at the same time."""
    ranks = collections.defaultdict(list)
    for holder in holders:
        ranks[holder.job, holder.run, holder.rank].append(holder)
    found = []
    for held in ranks.values():
        held.sort(key=lambda holder: holder.first)
        found += [(first, second) for i, first in enumerate(held) for second in held[i + 1:]
                  if second.first <= first.last]
    return found


def describe(holder, zero=0.0):
    members = ", ".join("%s %d: %.3f to %.3f" % (member, pid, first - zero, last - zero)
                        for member, (pid, first, last) in sorted(holder.members.items()))
    return "round %d attempt %d on %s (%s)" % (holder.round, holder.attempt, holder.node, members)


def no_rank_twice(holders, zero=0.0):
    return ["job %s run %d: rank %d lived twice for %.3f s: %s and %s" % (
        first.job, first.run, first.rank, min(first.last, second.last) - second.first, describe(first, zero),
        describe(second, zero)) for first, second in overlaps(holders)]


def _ranks_by_node(assignment):
    ranks = collections.defaultdict(set)
    for rank, node in assignment.items():
        ranks[node].add(rank)
    return ranks


def _moves(where, before, after):
    """Compares two rounds that follow each other."""
    had, has, found = _ranks_by_node(before), _ranks_by_node(after), []
    for node, ranks in sorted(had.items()):
        owners = {after.get(rank) for rank in ranks}
        if owners == {node}:
            continue
        owner = owners.pop()
        if owners or owner is None or has[owner] != ranks:
            found.append("%s: the ranks %s of %s did not move whole: %s" % (
                where, sorted(ranks), node, {rank: after.get(rank) for rank in sorted(ranks)}))
        elif owner in had:
            found.append("%s: the ranks %s of %s went to %s, which had ranks %s and was no spare" % (
                where, sorted(ranks), node, owner, sorted(had[owner])))
    return found


def whole_moves(holders, assignments):
    found = []
    for (job, run, number), assigned in sorted(assignments.items()):
        where = "job %s run %d round %d" % (job, run, number)
        found += ["%s: two assignments: %s and %s" % (where, assigned[0], other) for other in assigned[1:]]
        before = assignments.get((job, run, number - 1))
        if before:
            found += _moves(where, before[0], assigned[0])
    for holder in holders:
        assigned = assignments.get((holder.job, holder.run, holder.round))
        if assigned and assigned[0].get(holder.rank) != holder.node:
            found.append("job %s run %d round %d: rank %d is %s's, but ran on %s" % (
                holder.job, holder.run, holder.round, holder.rank, assigned[0].get(holder.rank), holder.node))
    return found


def marked(mark):
    """{pid: command} of every process of this machine that carries the mark."""
    wanted, found = ("%s=%s" % (MARK, mark)).encode(), {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if any(part.startswith(wanted) for part in (entry / "environ").read_bytes().split(b"\0")):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue  # gone in the meantime
        except PermissionError:
            continue  # not one of ours, which this process may read
    return found


def nothing_left(mark, below=()):
    """`below`: the processes that descend from the campaign (processes.py)."""
    left = dict(marked(mark))
    left.update({process.pid: "%s %s" % (process.name, process.command) for process in below})
    return ["left over: %d %s" % (pid, command.strip()) for pid, command in sorted(left.items())]


def one_cause(cause, last_lines):
    """`cause`: as the scheduler reports it; `last_lines`: {agent: its last lines}, of the agents that saw the run's
    end."""
    return ["%s doesn't tell the cause %r at its end: %r" % (name, cause, lines[-300:])
            for name, lines in sorted(last_lines.items()) if cause not in lines]


# How much a program may grow: memory that it needs for a busy moment, and a heap that has not reached its size yet. The
# scheduler keeps the last 20,000 events, which take some 10 MB and come together only after hundreds of jobs.
MORE_KB, SCHEDULER_MORE_KB, MORE_DESCRIPTORS = 4096, 10240, 8


def _half_means(values):
    half = len(values) // 2
    return sum(values[:half]) / half, sum(values[half:]) / (len(values) - half)


def flat(samples, warm_up=10, at_least=60):
    """`samples`: {program: [(seconds since its start, kB resident, descriptors)]}. Compares the mean of the second half
    with that of the first. Only for programs that lived long: a program that connects late needs more from then on."""
    found = []
    for name, series in sorted(samples.items()):
        series = [sample for sample in series if sample[0] >= warm_up]
        if len(series) < at_least:
            continue
        more_kb = SCHEDULER_MORE_KB if name.startswith("scheduler") else MORE_KB
        for what, column, more in (("kB of memory", 1, more_kb), ("descriptors", 2, MORE_DESCRIPTORS)):
            early, late = _half_means([sample[column] for sample in series])
            if late > early + more:
                found.append("%s grows: %.0f %s on average, then %.0f" % (name, early, what, late))
    return found
