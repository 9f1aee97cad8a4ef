"""HCCL's chief mode, with a stand-in for HCCL, and nodes that disagree about --hccl_mode."""

import json
import re

import pytest

from muster import SCRIPTS, free_port

CHIEF = ["python3", SCRIPTS / "hccl_chief.py"]
STALE = {"DEVICE_ID": "9", "RANK_ID": "9", "RANK_SIZE": "99"}


def start_two(cluster, worker_num, words_of_each, command, **options):
    cluster.start_scheduler("--once", "--worker_num", worker_num)
    return [cluster.start_agent("agent%d" % i, [
        "--worker_num", worker_num, "--local_worker_num", worker_num // 2, "--node_id", "n%d" % i, "--machine",
        "m%d" % i, "--worker_ip", "127.0.0.%d" % (i + 1), *words], command, **options)
        for i, words in enumerate(words_of_each)]


def test_every_rank_gets_the_same_set(cluster):
    port = free_port()
    agents = start_two(cluster, 8, [["--hccl_mode", "chief", "--chief_port", port]] * 2, CHIEF, env=STALE)
    for agent in agents:
        agent.expect(0)
    told = [json.loads(text) for agent in agents for text in re.findall(r"told (.*)$", agent.output(), re.MULTILINE)]
    expected = [{"server": "127.0.0.%d" % (1 + rank // 4), "device": str(rank % 4), "rank": rank} for rank in range(8)]
    assert told == [expected] * 8, told


def test_every_round_has_a_chief_again(cluster):
    """In the next round the chief's port is free again, and all find the new chief there."""
    script = ("python3 %s && touch told-$MS_ROUND-$RANK && if [ $MS_ROUND -lt 3 ]; then test $RANK = 3 || sleep 100;"
              "while [ $(ls told-$MS_ROUND-* | wc -l) -lt 4 ]; do sleep 0.02; done; exit 7; fi" % CHIEF[1])
    words = ["--hccl_mode", "chief", "--chief_port", free_port(), "--enable_recovery", 1]
    agents = start_two(cluster, 4, [words] * 2, ["sh", "-c", script])
    for agent in agents:
        agent.expect(0)
        assert len(set(re.findall(r"told (.*)$", agent.output(), re.MULTILINE))) == 1, agent.output()
        assert agent.output().count("told ") == 6, agent.output()


@pytest.mark.parametrize("first, second, said", [
    (["--hccl_mode", "chief"], ["--hccl_mode", "table", "--device_ips", "1.1.1.1"],
     "node n0 was started with --hccl_mode chief, node n1 was not"),
    ([], ["--hccl_mode", "chief"], "node n1 was started with --hccl_mode chief, node n0 was not"),
    (["--hccl_mode", "table", "--device_ips", "1.1.1.1"], [],
     "node n0 was started with --hccl_mode table, node n1 was not")])
def test_nodes_that_are_not_of_one_mind_are_named(cluster, first, second, said):
    for agent in start_two(cluster, 2, [first, second], ["sleep", "100"]):
        assert agent.wait(20) != 0
        assert said in agent.output(), agent.output()
