"""The kinds of fault. Each function gets the cluster and a random source of its own, does the damage, and returns a
Fault: what was done, how long it lasts, and how it is undone.

Its victims are found by descent from what the campaign started (roles.py), never by a search of the machine by name.
"""

import collections
import os
import resource
import signal
import subprocess

import limits
import network
from processes import read_process

Fault = collections.namedtuple("Fault", "text seconds undo")


def nothing():
    pass


def _victims(cluster, chance, least=1):
    """Chooses one to three processes, mostly of one node and of different roles."""
    parts = cluster.parts()
    scheduler = cluster.scheduler.pid()
    count = max(least, chance.choices((1, 2, 3), (4, 4, 3))[0])
    nodes = sorted({part.node for part in parts if part.role == "agent"})
    if not nodes:
        return []
    node, is_one_node = chance.choice(nodes), chance.random() < 0.75
    by_role = collections.defaultdict(list)
    for part in parts:
        if part.role != "helper" and (part.node == node or not is_one_node):
            by_role[part.role].append((part.role, part.node, part.pid))
    if scheduler is not None:
        by_role["scheduler"] = [("scheduler", "", scheduler)]
    # Muster's programs are more likely than training processes, which die often enough with them.
    weights = {"process": 2, "scheduler": 1}
    chosen, left = [], sorted(by_role)
    for _ in range(min(count, len(left))):
        role = chance.choices(left, [weights.get(role, 3) for role in left])[0]
        left.remove(role)
        chosen.append(chance.choice(by_role[role]))
    return [victim for victim in chosen if not _is_one_too_many(victim, chosen, cluster.frozen)]


ROW = ("shim", "keeper", "guardian", "agent")  # from the lowest one upwards: a death wakes the one below


def _is_one_too_many(victim, chosen, frozen):
    """Any three of a node's row may be gone or frozen at once, because the fourth ends the rest. If all four would be
    out, this spares the shim."""
    role, node, _ = victim
    out = {other for other, its, _ in [*chosen, *frozen] if its == node}
    return role == "shim" and out.issuperset(ROW)


def _names(victims):
    return ", ".join("%s%s (%d)" % (role, " of " + node if node else "", pid) for role, node, pid in victims)


def _send(victims, number):
    for _, _, pid in victims:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass  # it ended with the one before


def _set_pauses(cluster, victims, chance):
    """Sets how long each killed program is gone: some come back at once, some only after a fence would have fallen.
    Returns the longest of these times."""
    longest = 0
    names = {node if role == "agent" else role for role, node, _ in victims}
    for member in cluster.members:
        if member.name in names:
            member.pause = chance.choice((0, chance.uniform(0.2, 3), chance.uniform(11, 14)))
            if member is cluster.scheduler:
                member.pause = min(member.pause, 6)
            longest = max(longest, member.pause)
    return longest


def kill(cluster, chance):
    victims = _victims(cluster, chance)
    seconds = _set_pauses(cluster, victims, chance)
    _send(victims, signal.SIGKILL)
    return Fault("kill -9: %s" % _names(victims), seconds, nothing)


def _row(cluster, chance):
    """All of one node's helper processes: agent, guardian, keeper, and each shim."""
    parts = [part for part in cluster.parts() if part.role in ROW]
    whole = sorted(node for node in {part.node for part in parts}
                   if {part.role for part in parts if part.node == node} == set(ROW))
    node = chance.choice(whole) if whole else None
    found = [(part.role, part.node, part.pid) for part in parts if part.node == node]
    return sorted(found, key=lambda victim: ROW.index(victim[0]))


def _of_one_start(row):
    """Keeps the processes below the node's present agent. Processes of an earlier start have no agent that could still
    die: if they were stopped, nothing would wake them."""
    kept = [victim for victim in row if victim[0] == "agent"]
    for victim in reversed(row):  # from the agent downwards
        process = read_process(victim[2])
        if process is not None and process.parent in {pid for _, _, pid in kept}:
            kept.append(victim)
    kept.reverse()
    return kept if {role for role, _, _ in kept} == set(ROW) else []


def kill_row(cluster, chance):
    """Acts as `pkill -9 ms-`, in one instant. Processes that a shell has started live on until the node's next start,
    or end with it."""
    victims = _row(cluster, chance)
    seconds = _set_pauses(cluster, victims, chance)
    _send(victims, signal.SIGSTOP)
    _send(victims, signal.SIGKILL)
    return Fault("kill -9 of all four: %s" % _names(victims), seconds, nothing)


def stop_row(cluster, chance):
    """Kills one process of a row whose others were stopped before: the next one below must wake and end the rest."""
    victims = _of_one_start(_row(cluster, chance))
    killed = [victim for victim in victims if victim[0] != "shim"]
    if not killed:
        return Fault("no node has all four", 0, nothing)
    killed = [chance.choice(killed)]
    seconds = max(_set_pauses(cluster, killed, chance), chance.uniform(3, 14))
    cluster.frozen += victims
    _send(victims, signal.SIGSTOP)
    _send(killed, signal.SIGKILL)

    def undo():
        cluster.frozen = [entry for entry in cluster.frozen if entry not in victims]
        _send(victims, signal.SIGCONT)
    return Fault("SIGSTOP to all four, and then kill -9 of one: %s of %s" % (_names(killed), _names(victims)), seconds, undo)


def fail(cluster, chance):
    """Fails a job that doesn't recover: kills an agent, a keeper or a process that Muster started, and perhaps more."""
    fatal = sorted((part.role, part.node, part.pid) for part in cluster.parts()
                   if part.role in ("agent", "keeper") or part.is_leader)
    victims = [chance.choice(fatal), *(_victims(cluster, chance) if chance.random() < 0.5 else [])]
    _set_pauses(cluster, victims, chance)
    _send(victims, signal.SIGKILL)
    return Fault("kill -9: %s" % _names(victims), 0, nothing)


def kill_agent(cluster, chance):
    node = chance.choice(cluster.nodes)
    node.pause = 0
    _send([("agent", node.name, node.pid())], signal.SIGKILL)
    return Fault("kill -9: agent of %s" % node.name, 0, nothing)


def stop(cluster, chance):
    victims = _victims(cluster, chance)
    cluster.frozen += victims
    _send(victims, signal.SIGSTOP)
    seconds, killed = chance.choice((chance.uniform(0.3, 3), chance.uniform(8, 14))), ""
    if chance.random() < 0.25 and victims:
        chosen = chance.choice(victims)
        killed = ", and then kill -9: " + _names([chosen])
        seconds = max(seconds, _set_pauses(cluster, [chosen], chance))
        _send([chosen], signal.SIGKILL)

    def undo():
        cluster.frozen = [entry for entry in cluster.frozen if entry not in victims]
        _send(victims, signal.SIGCONT)
    return Fault("SIGSTOP: %s%s" % (_names(victims), killed), seconds, undo)


def _for(chance):
    """A time shorter than the lease, or longer than the fence."""
    return chance.choice((chance.uniform(1, 4), chance.uniform(11, 16)))


def _far(cluster, chance):
    return chance.choice(cluster.nodes)


def cut(cluster, chance):
    node = _far(cluster, chance)
    return Fault("the network of %s is cut" % node.name, _for(chance),
                 network.drop(cluster.scheduler.machine, node.machine, to_first=True, to_second=True))


def one_way(cluster, chance):
    node, is_up = _far(cluster, chance), chance.random() < 0.5
    way = "from %s to the scheduler" % node.name if is_up else "from the scheduler to %s" % node.name
    return Fault("nothing gets " + way, _for(chance),
                 network.drop(cluster.scheduler.machine, node.machine, to_first=is_up, to_second=not is_up))


def refuse(cluster, chance):
    node, how = _far(cluster, chance), chance.choice(network.REFUSALS)
    seconds = chance.choice((chance.uniform(1, 4), chance.uniform(12, 18), chance.uniform(12, 18)))
    return Fault("what %s sends to the scheduler is refused (%s)" % (node.name, how), seconds,
                 network.reject(cluster.scheduler.machine, node.machine, how))


def unplug(cluster, chance):
    member = chance.choice(cluster.members)
    member.machine.cut_cable()
    return Fault("the cable of %s is unplugged" % member.name, _for(chance), member.machine.plug_cable)


def loss(cluster, chance):
    share = chance.choice((0.05, 0.2, 0.4))
    return Fault("%.0f %% of all packets are lost" % (100 * share), chance.uniform(4, 14),
                 network.lose([member.machine for member in cluster.members], share))


def disk(cluster, chance):
    filler = cluster.disk / "filler"
    with open(filler, "ab", buffering=0) as file:
        for size in (1 << 20, 4096, 512, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                pass
    return Fault("the disk of journal and logs is full", chance.uniform(1, 10), lambda: filler.unlink(missing_ok=True))


def _program(cluster, chance, roles):
    """Chooses (description, pid) of a running program."""
    found = [("%s of %s" % (part.role, part.node), part.pid) for part in cluster.parts() if part.role in roles]
    if cluster.scheduler.is_running() and chance.random() < 0.2:
        return "the scheduler", cluster.scheduler.pid()
    return chance.choice(sorted(found)) if found else (None, None)


def calls(cluster, chance):
    name, pid = _program(cluster, chance, chance.choice((("keeper", "guardian", "shim"), ("agent",))))
    words = chance.choice(limits.FAILING_CALLS) + ":when=%d+%d" % (chance.randint(1, 5), chance.choice((1, 1, 2, 5)))
    if pid is None:
        return Fault("no program whose calls could fail", 0, nothing)
    cluster.gripped.add(pid)
    # Traces all threads of an agent or scheduler. The other programs fork, and their children must not be traced.
    threads = [] if name.split()[0] in ("keeper", "guardian", "shim") else ["-f"]
    tracer = subprocess.Popen(["strace", *threads, "-qq", "-o", os.devnull, "-p", str(pid), "-e",
                               "trace=" + words.split(":")[0], "-e", "inject=" + words],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cluster.own[tracer.pid] = tracer

    def undo():
        if tracer.poll() is None:
            tracer.terminate()
    return Fault("calls of %s (%d) fail: %s" % (name, pid, words), chance.uniform(2, 8), undo)


def descriptors(cluster, chance):
    name, pid = _program(cluster, chance, chance.choice((("keeper", "guardian", "shim"), ("agent",))))
    if pid is None:
        return Fault("no program whose descriptors could be limited", 0, nothing)
    try:
        # Two of these faults may overlap. Both restore the limit that the first one found, not a lowered one.
        before = cluster.open_files.setdefault(pid, resource.prlimit(pid, resource.RLIMIT_NOFILE))
        cluster.gripped.add(pid)
        held = {int(entry) for entry in os.listdir("/proc/%d/fd" % pid)}
        left = chance.choice((0, 0, 1, 3))
        limit = [number for number in range(len(held) + left + 1) if number not in held][left]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(limit, before[1]), before[1]))
    except (OSError, ProcessLookupError):
        return Fault("%s (%d) is gone" % (name, pid), 0, nothing)

    def undo():
        try:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        except (OSError, ProcessLookupError):
            pass
    return Fault("%s (%d) can have %d more descriptors" % (name, pid, left), chance.uniform(3, 15), undo)


def processes(cluster, chance):
    node = chance.choice(cluster.nodes)
    pids = [part.pid for part in cluster.parts() if part.node == node.name]
    more = chance.randint(0, 3)
    group = limits.ProcessLimit("%s-%s-%d" % (cluster.mark, node.name, chance.randrange(1 << 30)))
    group.take(pids)
    group.limit_to(group.count() + more)
    return Fault("%s may have no more than %d more threads and processes" % (node.name, more), chance.uniform(3, 12),
                 group.close)


def clock(cluster, chance):
    seconds = chance.choice((900, -900, 86400 * 365, -86400 * 365, 1, -1))
    limits.step_wall_clock(seconds)
    return Fault("the wall clock is set by %+d s" % seconds, chance.uniform(0.5, 8), nothing)


KINDS = {
    "kill": kill, "kill-agent": kill_agent, "fail": fail, "stop": stop, "kill-row": kill_row, "stop-row": stop_row,
    "cut": cut, "one-way": one_way, "refuse": refuse, "unplug": unplug, "loss": loss,
    "disk": disk, "calls": calls, "descriptors": descriptors, "processes": processes, "clock": clock,
}
