"""The targets, and whether the results meet them: one line for each part of a target."""

import collections
import statistics

# `outcome` is "met", "missed by …" or "not run: …". `found` and `target` are texts for the table.
Line = collections.namedtuple("Line", "what target found outcome")

ELSEWHERE = "not part of this plan"
_RANK_BYTES = 1000  # in addition to the floor's memory


class Results:
    """{key: [results]}, and the reason for each key that has none."""

    def __init__(self, taken, reasons):
        self.taken, self.reasons = taken, reasons

    def median(self, key, *fields):
        """Takes the first of these fields that the results have; None without results."""
        for field in fields or ("seconds",):
            values = [result[field] for result in self.taken.get(key, []) if result.get(field) is not None]
            if values:
                return statistics.median(values)
        return None

    def worst(self, key, field):
        values = [result[field] for result in self.taken.get(key, []) if field in result]
        return max(values) if values else None

    def paired_ratio(self, one, other, value):
        """The median of the ratios of each pair; the runs of a pair followed each other."""
        pairs = zip(self.taken.get(one, []), self.taken.get(other, []))
        ratios = [value(a) / value(b) for a, b in pairs if value(a) is not None and value(b)]
        return statistics.median(ratios) if ratios else None

    def is_bound(self, key):
        return any(result.get("at_least") for result in self.taken.get(key, []))

    def why_not(self, *keys):
        for key in keys:
            if not self.taken.get(key):
                return "not run: " + self.reasons.get(key, ELSEWHERE)
        return "not run: a figure is missing in %s" % ", ".join(keys)


def at_most(what, value, limit, unit, results, keys, form="%.3g"):
    target = ("≤ " + form + " %s") % (limit, unit)
    if value is None:
        return Line(what, target.strip(), "", results.why_not(*keys))
    outcome = "met" if value <= limit else ("missed by " + form + " %s") % (value - limit, unit)
    return Line(what, target.strip(), ((form + " %s") % (value, unit)).strip(), outcome.strip())


def at_least(what, value, limit, unit, results, keys, is_bound=False):
    target = "≥ %.4g %s" % (limit, unit)
    if value is None:
        return Line(what, target, "", results.why_not(*keys))
    outcome = "met" if value >= limit else "missed by a factor of %.2f" % (limit / value)
    return Line(what, target, "%s%.3g %s" % ("> " if is_bound else "", value, unit), outcome)


def seconds_of(result):
    return result.get("seconds")


def beat_cost(result):
    """The server's processor seconds for one heartbeat."""
    count = result.get("heartbeats")
    return result["server_cpu_seconds"] / count if count else None


def _forming(results):
    for agents, limit in ((1000, 1.25), (12500, 1.3)):
        for security in ("plain", "mtls"):
            keys = ["form/%s/%s/%dx8" % (subject, security, agents) for subject in ("muster", "floor")]
            yield at_most("time to form %d agents × 8, %s: ratio to the floor's" % (agents, security),
                          results.paired_ratio(*keys, seconds_of), limit, "×", results, keys)
    for security in ("plain", "mtls"):
        muster, floor = ["form/%s/%s/%%dx8" % (subject, security) for subject in ("muster", "floor")]
        keys = [muster % 12500, floor % 12500, muster % 1000, floor % 1000]
        values = [results.median(key) for key in keys]
        growth = None if None in values else (values[0] / values[2]) / (values[1] / values[3])
        yield at_most("growth of the time to form from 1,000 to 12,500 agents, %s: ratio to the floor's" % security,
                      growth, 1.1, "×", results, keys)
        memory = [results.median(key, "server_rss_mb") for key in keys[:2]]
        spare = None if None in memory else memory[0] - 1.3 * memory[1]
        yield at_most("memory at 12,500 agents × 8, %s, above 1.3 times the floor's" % security, spare,
                      12500 * 8 * _RANK_BYTES / 2**20, "MB", results, keys[:2], "%.1f")
    keys = ["form/muster/plain/1000x8/durable", "form/muster/plain/1000x8/memory"]
    yield at_most("time to form 1,000 agents × 8: journal on disk, ratio to one in memory",
                  results.paired_ratio(*keys, seconds_of), 1.1, "×", results, keys)


def _faster(results, peer, subject, agents, factor, note=""):
    keys = ["form/%s/plain/%dx1" % (name, agents) for name in (peer, subject)]
    return at_least("%s / Muster: time to form %d agents%s" % (peer, agents, note),
                    results.paired_ratio(*keys, seconds_of), factor, "×", results, keys, results.is_bound(keys[0]))


def _cheaper(results, peer, agents, factor):
    keys = ["heartbeat/%s/plain/%dx1" % (name, agents) for name in (peer, "muster")]
    return at_least("%s / Muster: server CPU for a heartbeat, %d agents" % (peer, agents),
                    results.paired_ratio(*keys, beat_cost), factor, "×", results, keys)


def _peers(results):
    for agents in (8, 64, 256):
        yield _faster(results, "c10d", "agents", agents, 10, " (real ones)")
    yield _faster(results, "etcd", "muster", 4000, 3)
    yield _cheaper(results, "etcd", 4000, 5)
    yield _faster(results, "torchft", "muster", 1000, 2)
    yield _cheaper(results, "torchft", 1000, 3)


def _core(results):
    key = "core/muster/plain"
    runs = results.taken.get(key, [])

    def median(name, field):
        values = [run[name][field] for run in runs if run.get(name, {}).get(field)]
        return statistics.median(values) if values else None

    yield at_least("core: heartbeats, 100,000 nodes", median("Heartbeat/100000", "rate"), 1e6, "/s", results, [key])
    yield at_least("core: joins, 100,000 nodes", median("Join/100000", "rate"), 3e5, "/s", results, [key])
    yield at_most("core: closing a round of 100,000 ranks", median("CloseRound/12500", "ms"), 100, "ms", results, [key])


def _heartbeats(results):
    for security in ("plain", "mtls"):
        keys = ["heartbeat/%s/%s/12500x8" % (subject, security) for subject in ("muster", "floor")]
        yield at_most("heartbeats of 12,500 agents, one each 5 s, %s: CPU, ratio to the floor's" % security,
                      results.paired_ratio(*keys, beat_cost), 1.3, "×", results, keys)
        yield at_most("the same: p99 of an answer", results.median(keys[0], "answer_p99_ms"), 50, "ms", results,
                      keys[:1])
    for security in ("plain", "mtls"):
        key = "long/muster/%s/12500x8" % security
        yield at_most("heartbeats for 10 minutes, %s: lost answers and broken streams" % security,
                      results.worst(key, "failed"), 0, "", results, [key], "%g")
        yield at_most("heartbeats for 10 minutes, %s: growth of memory after minute 5" % security,
                      results.worst(key, "late_growth_mb"), 1, "MB", results, [key])


def _events(results):
    stop, restart = "stop/agents/plain/8x1", "restart/agents/plain/8x1"
    torchrun = "restart/torchrun/plain/8x1"
    beside = results.median(torchrun, "restarted_seconds")
    beside = "" if beside is None else " (torchrun: %.2f s)" % beside

    def ms(value):
        return None if value is None else 1000 * value

    yield at_most("kill -9 of a process → last line of 8 agents", ms(results.median(stop, "stopped_seconds")), 100,
                  "ms", results, [stop])
    yield at_most("kill -9 of a process → 8 agents' processes restarted" + beside,
                  ms(results.median(restart, "restarted_seconds")), 300, "ms", results, [restart])
    keys = ["reconnect/%s/mtls/1000x8" % subject for subject in ("muster", "floor")]
    yield at_most("scheduler restarted: time until 1,000 agents are back, mtls, ratio to the floor's",
                  results.paired_ratio(*keys, seconds_of), 1.2, "×", results, keys)
    yield at_most("the same: ranks that changed", results.worst(keys[0], "rank_changes"), 0, "", results, keys[:1],
                  "%g")


def _sizes(results):
    peers, neighbours = "peer_list/muster/plain/12500x8", "neighbours/muster/plain/1000x8"
    cost = "agent_cost/agents/plain/1x1"
    size, seconds = results.median(peers, "wire_bytes"), results.median(peers)
    yield at_most("peer list of 100,000 ranks on the wire", None if size is None else size / 1e6, 2, "MB", results,
                  [peers])
    yield at_most("the same: time to fetch it", None if seconds is None else 1000 * seconds, 50, "ms", results, [peers])
    yield at_most("an assignment with its neighbours", results.median(neighbours, "wire_bytes"), 1000, "bytes", results,
                  [neighbours], "%.0f")
    yield at_most("agent and keeper: PSS", results.median(cost, "pss_mb"), 12, "MB", results, [cost])
    yield at_most("agent and keeper: CPU at 2 s heartbeats", results.median(cost, "cpu_percent"), 0.1, "%", results,
                  [cost])
    yield at_most("agent: start to registered", results.median(cost, "start_ms"), 50, "ms", results, [cost])


def judge(results):
    """Every line of the table, in the order of the targets."""
    lines = []
    for part in (_forming, _peers, _core, _heartbeats, _events, _sizes):
        lines.extend(part(results))
    return lines
