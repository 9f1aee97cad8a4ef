"""The measurements of --smoke, --quick and --full: which are taken, in which order, how often."""

import collections

import subjects

# `sides` are taken in turn (a, b, a, b, …): {key: callable}. A result's key is measure/subject/variant, as in
# results.json. `runs`: how often; `short_runs`: how often if a pair takes less than 5 s.
Group = collections.namedtuple("Group", "sides runs short_runs")

SIZES = (8, 64, 256, 1000, 4000, 12500)
C10D_SIZES = (8, 64, 256)


def key(measure, subject, variant):
    return "%s/%s/%s" % (measure, subject, variant)


def pair(measure, agents, security, slots=8, words=()):
    """Muster compared with the floor server."""
    variant = "%s/%dx%d" % (security, agents, slots)
    return {key(measure, subject, variant): subjects.load(subject, measure, agents, slots, security, words=words)
            for subject in ("muster", "floor")}


def beats(window, interval):
    return ["--window=%g" % window, "--interval=%g" % interval]


def smoke():
    def add(sides):
        return Group(sides, 1, 1)
    yield add(pair("form", 50, "plain"))
    yield add(pair("form", 50, "mtls"))
    yield add(pair("heartbeat", 50, "plain", words=beats(1, 0.5)))
    yield add(pair("reconnect", 50, "plain"))
    yield add({"peer_list/muster/plain/50x8": subjects.load("muster", "peer_list", 50)})
    yield add({"form/agents/plain/2x1": subjects.agents("form", 2)})
    yield add({"restart/agents/plain/2x1": subjects.agents("restart", 2)})


def _against_the_floor(is_full):
    runs, short, large = (5, 9, 5) if is_full else (2, 3, 1)
    for security in ("plain", "mtls"):
        yield Group(pair("form", 1000, security), runs, short)
    durable = {"form/muster/plain/1000x8/memory": subjects.load("muster", "form", 1000, journal="memory"),
               "form/muster/plain/1000x8/durable": subjects.load("muster", "form", 1000)}
    yield Group(durable, runs, short)
    yield Group(pair("reconnect", 1000, "mtls"), runs if is_full else 1, short if is_full else 1)
    yield Group(pair("form", 12500, "plain"), large, large)
    yield Group(pair("heartbeat", 12500, "plain", words=beats(30 if is_full else 15, 5)), large, large)
    for agents in (1000, 12500):
        variant = "plain/%dx8" % agents
        yield Group({key("form", "floor-unwatched", variant): subjects.load("floor-unwatched", "form", agents)}, runs,
                    runs)
    yield Group({"peer_list/muster/plain/12500x8": subjects.load("muster", "peer_list", 12500)}, large, large)
    neighbours = subjects.load("muster", "peer_list", 1000, words=["--neighbours"])
    yield Group({"neighbours/muster/plain/1000x8": neighbours}, 1, 1)
    yield Group({"core/muster/plain": subjects.core()}, 3 if is_full else 1, 3 if is_full else 1)


def _against_pytorch(is_full):
    runs, short = (5, 9) if is_full else (1, 1)
    for agents in C10D_SIZES if is_full else C10D_SIZES[:2]:
        c10d = subjects.peer("c10d_rendezvous.py", "--agents", agents, "--timeout", 200, python="torch")
        yield Group({key("form", "c10d", "plain/%dx1" % agents): c10d,
                     key("form", "agents", "plain/%dx1" % agents): subjects.agents("form", agents)}, runs, runs)
        yield Group({key("cold", "agents", "plain/%dx1" % agents): subjects.agents("cold", agents)}, runs, runs)
    yield Group({"restart/torchrun/plain/8x1": subjects.peer("torchrun.py", "--agents", 8, python="torch"),
                 "restart/agents/plain/8x1": subjects.agents("restart", 8),
                 "stop/agents/plain/8x1": subjects.agents("stop", 8)}, runs, runs)
    for agents in (8, 64, 256, 1000, 4000) if is_full else (8, 256, 1000):
        yield Group({key("form", "tcpstore", "plain/%dx1" % agents):
                     subjects.peer("tcpstore.py", "--agents", agents, python="torch")}, runs, short)


def _against_servers(is_full):
    runs = 5 if is_full else 1
    window = 16 if is_full else 8
    for script, name, agents, python in (("etcd.py", "etcd", 4000, None),
                                         ("torchft_lighthouse.py", "torchft", 1000, "torch")):
        variant = "plain/%dx1" % agents
        forming = subjects.peer(script, "--measure", "form", "--agents", agents, python=python)
        yield Group({key("form", name, variant): forming,
                     key("form", "muster", variant): subjects.load("muster", "form", agents, 1)}, runs, runs)
        heart = ["--measure", "heartbeat", "--agents", agents, "--window", window, "--interval", 2]
        yield Group({key("heartbeat", name, variant): subjects.peer(script, *heart, python=python),
                     key("heartbeat", "muster", variant):
                     subjects.load("muster", "heartbeat", agents, 1, words=beats(window, 2))}, runs, runs)
    for agents in (8, 64, 256):
        yield Group({key("form", "mindspore", "plain/%dx1" % agents):
                     subjects.peer("mindspore_scheduler.py", "--agents", agents, python="mindspore")},
                    3 if is_full else 1, 3 if is_full else 1)


def _curves(is_full):
    """Cost against size, for the plots; the two largest sizes come from elsewhere in the plan."""
    runs = 3 if is_full else 1
    for agents in SIZES[:-1]:
        if agents != 1000:
            yield Group(pair("form", agents, "plain"), runs, runs)
    for agents in (8, 64, 256, 1000) if is_full else (64,):
        for script, name, python in (("etcd.py", "etcd", None), ("torchft_lighthouse.py", "torchft", "torch")):
            if (name, agents) != ("torchft", 1000):
                yield Group({key("form", name, "plain/%dx1" % agents):
                             subjects.peer(script, "--measure", "form", "--agents", agents, python=python)}, runs, runs)


def _agents(is_full):
    runs = 5 if is_full else 1
    window = str(30 if is_full else 20)
    yield Group({"agent_cost/agents/plain/1x1": subjects.agents("agent_cost", 1, "--window", window)}, runs, runs)
    yield Group({"idle/agents/plain": subjects.agents("idle", 1, "--window", "5")}, 1, 1)
    yield Group({"reconnect/agents/plain/8x1": subjects.agents("reconnect", 8)}, runs, runs)


def quick():
    """The most informative measurements come first. If no time is left for others, they are skipped and reported."""
    for part in (_against_the_floor, _agents, _against_pytorch, _against_servers, _curves):
        yield from part(False)
    yield from mtls_at_full_size(1)


def full():
    for part in (_against_the_floor, _agents, _against_pytorch, _against_servers, _curves):
        yield from part(True)
    yield from mtls_at_full_size(5)
    for security in ("plain", "mtls"):  # ten minutes: no node may be lost, no memory grow
        long = subjects.load("muster", "heartbeat", 12500, 8, security, words=beats(600, 5), watches_memory=True)
        yield Group({"long/muster/%s/12500x8" % security: long}, 1, 1)


def mtls_at_full_size(runs):
    yield Group(pair("form", 12500, "mtls"), runs, runs)
    yield Group(pair("heartbeat", 12500, "mtls", words=beats(30 if runs > 1 else 15, 5)), runs, runs)
