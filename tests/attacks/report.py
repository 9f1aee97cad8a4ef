"""The limits of what an attack may cost, and the output of what it did cost: one line for each attack, or JSON."""

import muster

MOST_GROWTH_MB = 150  # of the scheduler's resident memory, at its peak
MOST_LEFT_MB = 50  # of the growth, after CALM
CALM = 10  # seconds after an attack
MOST_P99_MS = 200  # of a heartbeat's answer
MOST_LEASES_LOST = 0
MOST_UNANSWERED = 0  # heartbeats, a second after the attack
MOST_JOIN_MS = 1000  # of an honest node, from its connect until it has its ranks
MEMORY_LIMIT_MB = 1536  # of the scheduler's control group

_COLUMNS = ("%-25s", "%4s", "%-4s", "%6s", "%6s", "%5s", "%8s", "%8s", "%7s", "%5s", "%7s")
_HEADS = ("attack", "con.", "tls", "MB", "after", "cores", "cuts/s", "MB/s", "p99 ms", "lost", "join ms")


def legend():
    return ("MB, after: what the scheduler's memory grew by, at its peak and %d s after the attack; cores: of its processors; cuts/s: "
            "connections\nof the attacker that were cut or refused; MB/s: what it sent; p99 ms, lost: answers to heartbeats, and streams of "
            "agents that broke;\njoin ms: the slowest honest join" % CALM)


def heads():
    return " ".join(_COLUMNS) % _HEADS + "  outcome; what the scheduler counted"


def misses(result):
    """The limits that a result breaks, in words."""
    out = []

    def hold(name, most):
        if result.get(name) is not None and result[name] > most:
            out.append("%s %d > %d" % (name.replace("_", " "), result[name], most))

    if not result["is_alive"]:
        out.append("THE SCHEDULER DIED (%s)" % result["end"])
    elif not result["is_answering"]:
        out.append("ms-ctl counters got no answer")
    hold("growth_mb", MOST_GROWTH_MB)
    hold("left_mb", MOST_LEFT_MB)
    hold("p99_ms", MOST_P99_MS * muster.SLOWNESS)
    hold("leases_lost", MOST_LEASES_LOST)
    hold("unanswered", MOST_UNANSWERED)
    hold("join_ms", MOST_JOIN_MS * muster.SLOWNESS)
    if result["joins_failed"]:
        out.append("%d joins failed" % result["joins_failed"])
    if not result["joins"]:
        out.append("nobody joined")
    return out


def line(result):
    def shown(name, form="%.0f"):
        return "-" if result.get(name) is None else form % result[name]

    row = (result["attack"], result["connections"], "yes" if result["tls"] else "no", shown("growth_mb"), shown("left_mb"),
           shown("cores", "%.2f"), shown("cuts_a_second", "%.1f"), shown("sent_mb_a_second", "%.2f"), shown("p99_ms"),
           shown("leases_lost"), shown("join_ms"))
    counted = ", ".join("%s %d" % item for item in sorted(result["counted"].items()))
    outcome = "; ".join(result["misses"]) or "ok"
    return " ".join(_COLUMNS) % row + "  " + outcome + (" [%s]" % counted if counted else "")
