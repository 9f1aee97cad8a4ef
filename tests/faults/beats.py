"""Reads the files that the processes of beat.py have written: which process held which rank, and for how long."""

import collections
import json

# One start of a rank with all its processes. `first` and `last`: the first and last beat of any of these processes.
# `members`: {what it is: (pid, first, last)}.
Holder = collections.namedtuple("Holder", "job run round attempt rank node family first last members")


def read_file(path):
    """Returns (identity, first beat, last beat), or None for a process that ended before its first beat."""
    lines = path.read_text(errors="replace").split("\n")[:-1]  # a line without its end is incomplete
    if len(lines) < 2:
        return None
    who = json.loads(lines[0])
    return who, float(lines[1].split()[5]), float(lines[-1].split()[5])


def read(folder):
    """Returns (holders, assignments): all processes that beat, and each assignment that any of them got:
    {(job, run, round): [{rank: node}]}."""
    families, assignments = collections.defaultdict(dict), collections.defaultdict(list)
    for path in sorted(folder.glob("*.beats")):
        found = read_file(path)
        if found is None:
            continue
        who, first, last = found
        assigned = {int(rank): node for rank, node in who.pop("assignments").items()}
        key = who["job"], who["run"], who["round"]
        if assigned and assigned not in assignments[key]:
            assignments[key].append(assigned)
        member, pid = who.pop("member"), who.pop("pid")
        families[tuple(who.items())][member] = (pid, first, last)
    holders = [Holder(first=min(first for _, first, _ in members.values()),
                      last=max(last for _, _, last in members.values()), members=members, **dict(who))
               for who, members in families.items()]
    return sorted(holders, key=lambda holder: holder.first), dict(assignments)
