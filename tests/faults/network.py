"""Faults of a network between machines (netns.py): each function begins one and returns how to end it."""

REFUSALS = ("tcp-reset", "icmp-port-unreachable", "icmp-admin-prohibited")


def _rule(machine, words):
    machine.run("iptables", "-w", "-I", "INPUT", *words)
    return lambda: machine.run("iptables", "-w", "-D", "INPUT", *words)


def _all(undos):
    def undo():
        for one in undos:
            one()
    return undo


def drop(first, second, to_first, to_second):
    """Drops packets silently, in the given directions. It drops at the receiver, so that the sender gets no error."""
    undos = []
    if to_first:
        undos.append(_rule(first, ["-s", second.address, "-j", "DROP"]))
    if to_second:
        undos.append(_rule(second, ["-s", first.address, "-j", "DROP"]))
    return _all(undos)


def reject(scheduler, node, how):
    """Rejects packets, as some firewalls do."""
    from_node = ["-s", node.address]
    undos = [_rule(scheduler, [*from_node, "-j", "REJECT", "--reject-with", how.replace("tcp-reset", REFUSALS[1])])]
    if how == "tcp-reset":  # comes before the rule above, which then matches datagrams only
        undos.append(_rule(scheduler, [*from_node, "-p", "tcp", "-j", "REJECT", "--reject-with", how]))
    return _all(undos)


def lose(machines, share):
    return _all([_rule(machine, ["-m", "statistic", "--mode", "random", "--probability", "%.3f" % share, "-j", "DROP"])
                 for machine in machines])
