"""The table of lanes: which kinds of fault are tried under which settings."""

import collections

# tls: mutual TLS. scope: --restart_scope. spares: how many spares stand by (they arm the fence). recovers:
# MS_ENABLE_RECOVERY. isolates: --isolate pid. kinds: of faults.py; one that is named twice is twice as likely. way: how
# the episode goes (episode.py):
#   heal    faults come and are undone; then the job must come back, and may end with success
#   fail    the first fault fails the job, and every agent has to end by itself
#   starved one node's agent starts with very few descriptors or processes; all programs have to end
#   many    one job after the other under one scheduler, as long as the episode lasts
#   rounds  one job that restarts again and again under the same agents, as long as the episode lasts
#   clock   as heal, in a kernel of its own, where the wall clock is set
Lane = collections.namedtuple("Lane", "tls scope spares recovers kinds way isolates")

EVERYTHING = ("kill", "kill", "kill", "stop", "cut", "one-way", "refuse", "unplug", "loss", "disk", "calls",
              "descriptors", "processes")


def _lane(*kinds, tls=False, scope="job", spares=1, recovers=True, way="heal", isolates=False):
    return Lane(tls, scope, spares, recovers, kinds, way, isolates)


LANES = {
    "kills": _lane("kill"),
    "kills-alone": _lane("kill", spares=0),
    "kills-worker": _lane("kill", scope="worker"),
    "kills-worker-alone": _lane("kill", scope="worker", spares=0),
    "kills-tls": _lane("kill", tls=True, spares=2),
    "stops": _lane("stop", "stop", "kill"),
    "stops-worker": _lane("stop", "stop", "kill", scope="worker"),
    # All four helper processes at once. Without a spare the node itself returns; `isolates`: the kernel ends the rest.
    "all-four-alone": _lane("kill-row", "kill-row", "kill", spares=0),
    "all-four-worker": _lane("kill-row", "kill-row", "kill", scope="worker", spares=0),
    "all-four-isolated": _lane("kill-row", "stop-row", "kill", isolates=True),
    "all-four-stopped": _lane("stop-row", "stop-row", "kill"),
    "cuts": _lane("cut", "one-way", "unplug", spares=2),
    "cuts-alone": _lane("cut", "one-way", "unplug", "kill", spares=0),
    "cuts-tls": _lane("cut", "one-way", "unplug", "kill", tls=True),
    "refusals": _lane("refuse", "refuse", "kill"),
    "loss": _lane("loss", "kill"),
    "disk": _lane("disk", "kill"),
    "calls": _lane("calls", "calls", "kill"),
    "calls-worker": _lane("calls", "calls", "kill", scope="worker", spares=0),
    "descriptors": _lane("descriptors", "descriptors", "kill"),
    "processes": _lane("processes", "processes", "kill"),
    "mixed": _lane(*EVERYTHING),
    "mixed-tls": _lane(*EVERYTHING, tls=True, spares=2),
    "mixed-worker": _lane(*EVERYTHING, scope="worker"),
    "mixed-alone": _lane(*EVERYTHING, spares=0),
    "fails": _lane("fail", spares=0, recovers=False, way="fail"),
    "fails-tls": _lane("fail", tls=True, spares=0, recovers=False, way="fail"),
    "starved": _lane(spares=0, recovers=False, way="starved"),
    "starved-recovers": _lane(spares=1, way="starved"),
    "clock": _lane("clock", "clock", "kill", spares=0, way="clock"),
    "many": _lane(spares=0, way="many"),
    "rounds": _lane(spares=1, way="rounds"),
}

LONG_RUNNING = ("many", "rounds")  # the caller chooses how long these last
