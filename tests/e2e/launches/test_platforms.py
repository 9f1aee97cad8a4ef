"""--from with exactly the variables that each platform sets, without the platform."""

import re

import pytest

from muster import ROOT, eventually

ENVIRONMENTS = ROOT / "tests" / "unit" / "platform" / "environments"
SHOW = ["python3", "-c", "import os; print('I am', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])"]


def recorded(name, **changes):
    lines = [line for line in (ENVIRONMENTS / (name + ".env")).read_text().splitlines() if not line.startswith("#")]
    return {**dict(line.split("=", 1) for line in lines), **changes}


@pytest.mark.parametrize("name, index, words", [
    ("k8s", "JOB_COMPLETION_INDEX", ["--worker_num", 2]),
    ("lws", "LWS_WORKER_INDEX", []),
    ("kubeflow", "PET_NODE_RANK", ["--local_worker_num", 1]),
    ("openmpi", "OMPI_COMM_WORLD_RANK", []),
])
def test_each_pod_gets_the_rank_of_its_index(cluster, name, index, words):
    cluster.start_scheduler()
    size = {"lws": {"LWS_GROUP_SIZE": "2"}}.get(name, {})
    agents = []
    for rank in (1, 0):
        host = {"HOSTNAME": "train-%d" % rank} if name == "k8s" else {}
        changes = {index: str(rank), **size, **host}
        if name == "kubeflow":
            changes["JOB_COMPLETION_INDEX"] = str(rank)
        agents.append((rank, cluster.start_agent("agent%d" % rank, ["--from", "auto", *words], SHOW,
                                                 env=recorded(name, **changes))))
    for rank, agent in agents:
        agent.expect(0)
        assert "I am %d of 2" % rank in agent.output()
        assert re.search(r"INFO ms-worker: from %s: .*node_rank %d \(%s\)" % (name, rank, index), agent.output())


def test_a_pod_that_comes_again_with_its_index_takes_its_place(cluster, tmp_path):
    cluster.start_scheduler("--enable_recovery", "1")
    wait = ["sh", "-c", "echo begun $RANK; while [ ! -e %s ]; do sleep 0.05; done" % (tmp_path / "done")]

    def pod(index, name):
        environment = recorded("k8s", JOB_COMPLETION_INDEX=str(index), HOSTNAME="train-%d" % index,
                               XDG_STATE_HOME=str(tmp_path / name))
        return cluster.start_agent(name, ["--from", "k8s", "--worker_num", 2, "--enable_recovery", 1], wait,
                                   env=environment)

    first, second = pod(0, "first"), pod(1, "second")
    for agent, rank in ((first, 0), (second, 1)):
        eventually(lambda: "begun %d" % rank in agent.output(), 20, "rank %d runs" % rank)
    second.send(9)
    again = pod(1, "again")
    eventually(lambda: "begun 1" in again.output(), 20, "rank 1 runs again")
    eventually(lambda: first.output().count("begun 0") == 2, 20, "rank 0 runs again")
    (tmp_path / "done").touch()
    first.expect(0)
    again.expect(0)


def test_a_value_that_is_none_names_its_variable(cluster):
    agent = cluster.start("agent", ["ms-worker", "--from", "auto", "true"], env=recorded("lws", LWS_GROUP_SIZE="few"))
    agent.expect(2)
    assert 'LWS_GROUP_SIZE is "few", but must be a whole number' in agent.output()
