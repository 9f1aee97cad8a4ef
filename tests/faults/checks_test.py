"""The campaign's checks find planted violations, and none where there are none."""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE), str(HERE.parent / "e2e" / "support")]

import beats  # noqa: E402
import checks  # noqa: E402
import episode  # noqa: E402
import faults  # noqa: E402
import network  # noqa: E402
import roles  # noqa: E402
from lanes import LANES  # noqa: E402

ASSIGNED = {0: "n0", 1: "n0", 2: "n1", 3: "n1"}


def holder(rank, number, attempt, node, first, last, run=1, job="default"):
    members = {"main": (100 + rank, first, last)}
    return beats.Holder(job, run, number, attempt, rank, node, "%d.%s" % (rank, first), first, last, members)


# ------------------------------------------------------------------------------------------------------------- beats


def write(folder, who, member, pid, times, end="\n"):
    told = dict(who, member=member, pid=pid)
    start = "%d %d %d %d %d " % (who["rank"], who["round"], who["attempt"], who["run"], pid)
    lines = [json.dumps(told)] + [start + "%.6f" % at for at in times]
    (folder / ("%s.%s.beats" % (who["family"], member))).write_text("\n".join(lines) + end)


def who(rank=3, number=1, node="n1", family="7.70"):
    return {"job": "default", "run": 1, "round": number, "attempt": 0, "rank": rank, "node": node, "family": family,
            "assignments": {str(rank): name for rank, name in ASSIGNED.items()}}


def test_a_start_lives_from_the_first_beat_of_any_of_its_processes_to_the_last(tmp_path):
    write(tmp_path, who(), "main", 7, [1.0, 1.05])
    write(tmp_path, who(), "child", 8, [0.95, 1.1])
    write(tmp_path, who(), "session", 9, [1.2, 9.5])
    holders, assignments = beats.read(tmp_path)
    assert [(one.first, one.last) for one in holders] == [(0.95, 9.5)]
    assert sorted(holders[0].members) == ["child", "main", "session"]
    assert assignments == {("default", 1, 1): [ASSIGNED]}


def test_a_line_that_is_half_written_does_not_count(tmp_path):
    write(tmp_path, who(), "main", 7, [1.0, 1.05, 123456.0], end="")
    write(tmp_path, who(family="8.80"), "main", 8, [])
    assert [one.last for one in beats.read(tmp_path)[0]] == [1.05]


def test_beat_py_says_what_the_checks_read(tmp_path):
    cluster = {"job_id": "default", "run": 2, "round": 5,
               "peers": [{"rank": rank, "node_id": node} for rank, node in ASSIGNED.items()]}
    (tmp_path / "cluster.json").write_text(json.dumps(cluster))
    env = dict(os.environ, MS_CLUSTER_FILE=str(tmp_path / "cluster.json"), MS_ROUND="5", MS_RESTART_COUNT="4", RANK="3",
               MUSTER_NODE_ID="n1")
    process = subprocess.Popen([sys.executable, "-S", HERE / "beat.py", tmp_path], env=env)
    deadline = time.monotonic() + 20
    while len(list(tmp_path.glob("*.beats"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    (tmp_path / "go.default").touch()
    assert process.wait(20) == 0
    holders, assignments = beats.read(tmp_path)
    assert [(one.job, one.run, one.round, one.attempt, one.rank, one.node) for one in holders] == [
        ("default", 2, 5, 4, 3, "n1")]
    assert sorted(holders[0].members) == ["child", "main", "session"] and assignments == {("default", 2, 5): [ASSIGNED]}
    assert len({pid for pid, _, _ in holders[0].members.values()}) == 3


# ------------------------------------------------------------------------------------------------- no rank lives twice


def test_one_after_the_other_is_right():
    assert not checks.no_rank_twice([holder(3, 1, 0, "n1", 1.0, 2.0), holder(3, 2, 1, "n1", 2.01, 3.0),
                                     holder(2, 1, 0, "n1", 1.0, 3.0), holder(3, 1, 0, "n1", 1.0, 9.0, run=2)])


def test_two_holders_at_once_are_found_in_any_rounds_and_attempts():
    for second in (holder(3, 1, 1, "n1", 1.9, 3.0), holder(3, 2, 1, "spare0", 1.9, 3.0),
                   holder(3, 1, 0, "n1", 2.0, 2.5)):
        found = checks.no_rank_twice([second, holder(3, 1, 0, "n1", 1.0, 2.0)])
        assert len(found) == 1 and "rank 3 lived twice" in found[0], found


def test_one_that_outlives_the_next_but_one_is_found_with_both():
    lives = [holder(3, 1, 0, "n1", 1.0, 9.0), holder(3, 2, 1, "n1", 2.0, 3.0), holder(3, 3, 2, "n1", 4.0, 5.0)]
    assert len(checks.no_rank_twice(lives)) == 2


def test_a_child_in_a_session_of_its_own_counts(tmp_path):
    write(tmp_path, who(), "main", 7, [1.0, 2.0])
    write(tmp_path, who(), "session", 8, [1.0, 3.0])
    write(tmp_path, who(family="9.90"), "main", 9, [2.5, 4.0])
    found = checks.no_rank_twice(beats.read(tmp_path)[0])
    assert len(found) == 1 and "for 0.500 s" in found[0], found


# ------------------------------------------------------------------------------------------------------- whole moves


def moves(before, after):
    return checks.whole_moves([], {("default", 1, 1): [before], ("default", 1, 2): [after]})


def test_ranks_stay_or_go_to_a_spare_together():
    assert not moves(ASSIGNED, ASSIGNED)
    assert not moves(ASSIGNED, {0: "n0", 1: "n0", 2: "spare0", 3: "spare0"})


def test_ranks_that_do_not_move_whole_are_found():
    assert "did not move whole" in moves(ASSIGNED, {0: "n0", 1: "n0", 2: "spare0", 3: "n1"})[0]
    assert "did not move whole" in moves(ASSIGNED, {0: "n0", 1: "n0", 2: "spare0", 3: "spare1"})[0]
    assert "did not move whole" in moves(ASSIGNED, {0: "n0", 1: "n0", 2: "spare0"})[0]
    assert "did not move whole" in moves(ASSIGNED, {rank: "n0" for rank in ASSIGNED})[0]


def test_ranks_that_go_to_a_node_with_ranks_are_found():
    found = moves(ASSIGNED, {0: "n1", 1: "n1", 2: "n0", 3: "n0"})
    assert len(found) == 2 and "was no spare" in found[0], found


def test_rounds_that_no_process_reported_are_not_judged():
    swapped = {0: "n1", 1: "n1", 2: "n0", 3: "n0"}
    assert not checks.whole_moves([], {("default", 1, 1): [ASSIGNED], ("default", 1, 3): [swapped]})


def test_two_assignments_of_one_round_are_found():
    assert "two assignments" in checks.whole_moves([], {("default", 1, 1): [ASSIGNED, {0: "n0"}]})[0]


def test_a_process_on_a_node_that_has_not_its_rank_is_found():
    found = checks.whole_moves([holder(3, 1, 0, "n0", 1.0, 2.0)], {("default", 1, 1): [ASSIGNED]})
    assert found == ["job default run 1 round 1: rank 3 is n1's, but ran on n0"]


# ------------------------------------------------------------------------------------------------------------ the rest


def test_a_process_with_the_mark_is_found_until_it_is_gone():
    mark = "test-%d/" % os.getpid()
    process = subprocess.Popen(["sleep", "100"], env={checks.MARK: mark + "n1", "PATH": os.environ["PATH"]})
    try:
        deadline = time.monotonic() + 20  # until the process runs the new program instead of ours
        while not checks.nothing_left(mark) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert checks.nothing_left(mark) == ["left over: %d sleep 100" % process.pid]
        assert roles.node_of_mark(process.pid) == "n1"
        assert not checks.nothing_left("another-%d/" % os.getpid())
    finally:
        process.kill()
        process.wait()
    assert not checks.nothing_left(mark)


def test_an_agent_with_another_cause_is_found():
    told = {"n0": "x\nERROR ms-worker: rank 3 died of SIGKILL", "n1": "ERROR ms-worker: rank 2 ended with 1"}
    found = checks.one_cause("rank 3 died of SIGKILL", told)
    assert len(found) == 1 and found[0].startswith("n1 "), found


def series(memory, descriptors, count=100):
    return [(second, memory(second), descriptors(second)) for second in range(count)]


def test_a_program_that_grows_is_found():
    even = series(lambda _: 20000, lambda _: 30)
    assert not checks.flat({"agent": even})
    assert not checks.flat({"agent": series(lambda second: min(20000, 5000 + 5000 * second),
                                            lambda second: 30 + second % 5)})
    assert not checks.flat({"agent": series(lambda _: 20000, lambda second: 10 + second, count=40)})
    growing = series(lambda second: 20000 + 150 * second, lambda _: 30)
    assert "kB of memory" in checks.flat({"agent": growing})[0] and not checks.flat({"scheduler": growing})
    assert checks.flat({"scheduler": series(lambda second: 20000 + 300 * second, lambda _: 30)})
    assert "descriptors" in checks.flat({"agent": series(lambda _: 20000, lambda second: 30 + second)})[0]


def test_a_seed_gives_the_same_plan():
    for name, lane in LANES.items():
        if not lane.kinds:
            continue
        first, again = (episode.plan(lane, random.Random("%s 7" % name)) for _ in range(2))
        assert first == again and all(planned.kind in faults.KINDS for planned in first)
    assert {kind for lane in LANES.values() for kind in lane.kinds} | {"kill-agent"} == set(faults.KINDS)


def test_a_rule_of_the_firewall_is_taken_back():
    class Machine:
        address, done = "10.0.0.1", []

        def run(self, *words):
            self.done.append(words)
    first, second = Machine(), Machine()
    network.drop(first, second, to_first=True, to_second=True)()
    added, removed = first.done[:2], first.done[2:]
    assert [tuple("-D" if word == "-I" else word for word in words) for words in added] == removed and len(added) == 2
