"""Which nodes are refused, with which code and message."""

import re
import socket

from muster import EXIT_NEVER_FORMED, EXIT_REFUSED, eventually

SLEEP = ["sleep", "1000"]


def test_the_ninth_of_eight_workers_is_refused(cluster):
    cluster.start_scheduler("--worker_num", 8)
    # It runs until all eight and the ninth have been seen, so that the ninth can't come after the job's end.
    agents = cluster.start_agents(9, ["--worker_num", 8], ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"])
    refused = []

    def one_has_ended():
        refused[:] = [agent for agent in agents if not agent.is_running()]
        return refused
    eventually(one_has_ended, 20, "one agent is refused")
    cluster.wait_until_running(8)
    (cluster.folder / "go").touch()
    codes = sorted(agent.wait(30) for agent in agents)
    assert codes == [0] * 8 + [EXIT_REFUSED], cluster.describe()
    extra = next(agent for agent in agents if agent.wait(1) == EXIT_REFUSED)
    assert re.search(r"\b8\b.*worker", extra.tail(3)), extra.output()


def test_seven_of_eight_end_after_the_timeout_and_the_missing_id_is_named(cluster):
    scheduler = cluster.start_scheduler("--worker_num", 8, "--topo_timeout", 3)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 8, "--node_id", i], SLEEP)
              for i in (0, 1, 2, 3, 4, 6, 7)]
    for agent in agents:
        agent.expect(EXIT_NEVER_FORMED, timeout=20)
        last = agent.our_lines()[-1]
        assert re.search(r"7 of 8", last), last
        assert re.search(r"missing[^0-9]*5\b", last), last
        assert socket.gethostname() in last, last
    assert re.search(r"7 of 8.*missing[^0-9]*5\b", scheduler.output()), scheduler.output()
    assert cluster.phase() == "failed"


def test_once_ends_with_12_when_its_job_never_formed(cluster):
    scheduler = cluster.start_scheduler("--once", "--worker_num", 2, "--topo_timeout", 2)
    agent = cluster.start_agent("agent", ["--worker_num", 2], SLEEP)
    agent.expect(EXIT_NEVER_FORMED, timeout=20)
    scheduler.expect(EXIT_NEVER_FORMED)


def test_differing_worker_numbers_name_both_values_and_the_node(cluster):
    cluster.start_scheduler()
    first = cluster.start_agent("first", ["--worker_num", 8, "--node_id", "alpha"], SLEEP)
    cluster.wait_for_phase("forming")
    second = cluster.start_agent("second", ["--worker_num", 4, "--node_id", "beta"], SLEEP)
    second.expect(EXIT_REFUSED)
    last = second.our_lines()[-1]
    assert re.search(r"worker_num|MS_WORKER_NUM", last, re.IGNORECASE), last
    assert re.search(r"\b8\b", last) and re.search(r"\b4\b", last), last
    assert "alpha" in last or "beta" in last, last
    assert first.is_running()


def test_the_schedulers_own_value_judges(cluster):
    cluster.start_scheduler("--worker_num", 2)
    agent = cluster.start_agent("agent", ["--worker_num", 3], SLEEP)
    agent.expect(EXIT_REFUSED)
    assert re.search(r"\b2\b.*\b3\b|\b3\b.*\b2\b", agent.our_lines()[-1]), agent.output()


def test_a_node_id_in_use_is_refused_with_the_first_ones_address(cluster):
    cluster.start_scheduler("--worker_num", 2)
    first = cluster.start_agent("first", ["--worker_num", 2, "--node_id", "alpha"], SLEEP)
    cluster.wait_for_phase("forming")
    second = cluster.start_agent("second", ["--worker_num", 2, "--node_id", "alpha"], SLEEP)
    second.expect(EXIT_REFUSED)
    last = second.our_lines()[-1]
    assert "alpha" in last and "127.0.0.1" in last, last
    assert first.is_running()


def test_01_and_1_are_not_silently_one(cluster):
    cluster.start_scheduler("--worker_num", 3)
    first = cluster.start_agent("first", ["--worker_num", 3, "--node_id", "1"], SLEEP)
    cluster.wait_for_phase("forming")
    second = cluster.start_agent("second", ["--worker_num", 3, "--node_id", "01"], SLEEP)
    second.expect(EXIT_REFUSED)
    last = second.our_lines()[-1]
    assert "01" in last and re.search(r"\b1\b", last), last
    assert first.is_running()


def test_an_id_beyond_the_worker_number_is_refused(cluster):
    cluster.start_scheduler("--worker_num", 2)
    agent = cluster.start_agent("agent", ["--worker_num", 2, "--node_id", "2"], SLEEP)
    agent.expect(EXIT_REFUSED)
    assert re.search(r"\b2\b", agent.our_lines()[-1]), agent.output()


def test_wrong_settings_start_nothing(cluster):
    for words in (["--no_such_setting", "1"], ["--worker_num", "many"], ["--master_addr", "10.0.0.1"]):
        agent = cluster.start("wrong-%s" % words[0].strip("-"), ["ms-worker", *words, "--", "touch", "started"])
        agent.expect(2)
        assert words[0].strip("-") in agent.output(), agent.output()
    assert "sched_host" in agent.output() and "torch_master_addr" in agent.output(), agent.output()
    assert not (cluster.folder / "started").exists()

