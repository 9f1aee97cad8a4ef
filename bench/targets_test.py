"""Tests the comparison with the targets on invented results, since the real ones take hours."""

import pytest
import targets


def judge(taken, reasons=None):
    return {line.what: line for line in targets.judge(targets.Results(taken, reasons or {}))}


def seconds(*values):
    return [{"seconds": value} for value in values]


def test_a_ratio_is_the_median_of_neighbouring_runs():
    what = "time to form 1000 agents × 8, plain: ratio to the floor's"
    keys = ["form/%s/plain/1000x8" % subject for subject in ("muster", "floor")]
    # The machine became three times slower between the runs: each pair still gives 1.2.
    line = judge({keys[0]: seconds(1.2, 3.6, 3.6), keys[1]: seconds(1.0, 3.0, 3.0)})[what]
    assert (line.target, line.found, line.outcome) == ("≤ 1.25 ×", "1.2 ×", "met")
    line = judge({keys[0]: seconds(1.2, 1.5, 1.5), keys[1]: seconds(1.0, 1.0, 1.0)})[what]
    assert (line.found, line.outcome) == ("1.5 ×", "missed by 0.25 ×")


@pytest.mark.parametrize("muster, outcome", [(0.5, "met"), (1.0, "missed by a factor of 1.50")])
def test_a_peer_is_to_be_slower_by_a_factor(muster, outcome):
    line = judge({"form/torchft/plain/1000x1": seconds(4.0 / 3), "form/muster/plain/1000x1": seconds(muster)})
    assert line["torchft / Muster: time to form 1000 agents"].outcome == outcome


def test_a_peer_that_gave_up_gives_a_bound():
    line = judge({"form/c10d/plain/64x1": [{"seconds": 300, "at_least": True}], "form/agents/plain/64x1": seconds(1)})
    assert line["c10d / Muster: time to form 64 agents (real ones)"].found == "> 300 ×"


def test_growth_is_held_against_the_floors_growth():
    taken = {"form/muster/plain/1000x8": seconds(1), "form/muster/plain/12500x8": seconds(15),
             "form/floor/plain/1000x8": seconds(0.5), "form/floor/plain/12500x8": seconds(6)}
    line = judge(taken)["growth of the time to form from 1,000 to 12,500 agents, plain: ratio to the floor's"]
    assert (line.found, line.outcome) == ("1.25 ×", "missed by 0.15 ×")


def test_memory_may_be_a_part_more_than_the_floors_and_a_kilobyte_for_each_rank():
    what = "memory at 12,500 agents × 8, plain, above 1.3 times the floor's"
    keys = ["form/%s/plain/12500x8" % subject for subject in ("muster", "floor")]
    for mb, outcome in ((225, "met"), (226, "missed by 0.6 MB")):
        line = judge({keys[0]: [{"server_rss_mb": mb}], keys[1]: [{"server_rss_mb": 100}]})[what]
        assert (line.target, line.outcome) == ("≤ 95.4 MB", outcome)


def test_what_a_heartbeat_costs_does_not_depend_on_how_many_were_counted():
    def beats(cpu, count):
        return [{"server_cpu_seconds": cpu, "heartbeats": count, "answer_p99_ms": 7}]
    lines = judge({"heartbeat/muster/plain/12500x8": beats(6.0, 20_000),
                   "heartbeat/floor/plain/12500x8": beats(10.0, 40_000)})
    line = lines["heartbeats of 12,500 agents, one each 5 s, plain: CPU, ratio to the floor's"]
    assert (line.found, line.outcome) == ("1.2 ×", "met")


def test_milliseconds_and_ranks_that_must_not_change():
    lines = judge({"stop/agents/plain/8x1": [{"stopped_seconds": 0.0301}],
                   "reconnect/muster/mtls/1000x8": [{"seconds": 1, "rank_changes": 0}, {"seconds": 1, "rank_changes": 3}]})
    assert lines["kill -9 of a process → last line of 8 agents"].found == "30.1 ms"
    assert lines["the same: ranks that changed"].outcome == "missed by 3"


def test_what_was_not_measured_says_why():
    reasons = {"form/etcd/plain/4000x1": "etcd is not installed"}
    lines = judge({"form/muster/plain/4000x1": seconds(1)}, reasons)
    assert lines["etcd / Muster: time to form 4000 agents"].outcome == "not run: etcd is not installed"
    assert lines["peer list of 100,000 ranks on the wire"].outcome == "not run: " + targets.ELSEWHERE


def test_the_core_is_judged_by_google_benchmarks_names():
    runs = [{"Heartbeat/100000": {"rate": 1.5e6}, "Join/100000": {"rate": 2e5}, "CloseRound/12500": {"ms": 73}}]
    lines = judge({"core/muster/plain": runs})
    assert lines["core: heartbeats, 100,000 nodes"].outcome == "met"
    assert lines["core: joins, 100,000 nodes"].outcome == "missed by a factor of 1.50"
    assert lines["core: closing a round of 100,000 ranks"].outcome == "met"
