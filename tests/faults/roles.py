"""Finds the role of each process of an episode, by descent from the processes that the campaign has started."""

import collections
import os

import checks
import processes

# The names that the programs give themselves; all other processes below an agent belong to the training.
ROLES = {"ms-guardian": "guardian", "ms-keeper": "keeper", "ms-shim": "shim"}

# `is_leader`: this training process was started by Muster itself.
Part = collections.namedtuple("Part", "node role pid is_leader")


def role_of(process):
    return ROLES.get(process.name, "helper" if process.name.startswith("ms-") else "process")


def node_of_mark(pid):
    """Reads the node from the environment of an orphan if its parents died before the first look."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            parts = file.read().split(b"\0")
    except OSError:
        return None
    name = (checks.MARK + "=").encode()
    return next((part.decode().rsplit("/", 1)[1] for part in parts if part.startswith(name) and b"/" in part), None)


class Family:
    """Remembers the node of each process, so that it is still known after the parents are gone."""

    def __init__(self):
        self._node_of = {}

    def parts(self, agents, others=()):
        """Every process of the cluster's nodes. `agents`: {node: pid}; `others`: pids of the campaign's other
        children."""
        found, ours = [], set()
        names = {pid: node for node, pid in agents.items() if pid is not None}
        for process in processes.descendants(os.getpid()):  # parents come before children
            pid, parent = process.pid, process.parent
            if pid in others:
                continue
            if pid in names:
                node, role = names[pid], "agent"
            else:
                node = names.get(parent) or self._node_of.get(parent) or self._node_of.get(pid) or node_of_mark(pid)
                role = role_of(process)
            if node is None:
                continue
            self._node_of[pid] = node
            found.append(Part(node, role, pid, role == "process" and parent in ours))
            if role != "process":
                ours.add(pid)
        return found
