"""TF_CONFIG, as TensorFlow's own strategies read it."""

import json
import os
import pathlib
import subprocess

import pytest

from muster import SCRIPTS

DUMP = ["sh", "-c", 'printf "%s" "$TF_CONFIG" > "$0$RANK.json"']
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "muster-tests"


def start(cluster, words, command, count=2):
    return [cluster.start_agent("%s%d" % (words[-1].strip("-"), i), [*words, "--node_rank", i], command)
            for i in range(count)]


def test_all_tasks_and_its_own(cluster):
    cluster.start_scheduler()
    for agent in start(cluster, ["--worker_num", 4, "--local_worker_num", 2, "--tf_config"], [*DUMP, "worker"]):
        agent.expect(0)
    told = [json.loads((cluster.folder / ("worker%d.json" % rank)).read_text()) for rank in range(4)]
    assert [each["task"] for each in told] == [{"type": "worker", "index": rank} for rank in range(4)]
    workers = told[0]["cluster"]["worker"]
    assert all(each["cluster"] == {"worker": workers} for each in told)
    assert len(set(workers)) == 4 and all(worker.startswith("127.0.0.1:") for worker in workers), workers


def test_it_is_only_there_when_asked_for(cluster):
    cluster.start_scheduler()
    agent = cluster.start_agent("agent", ["--worker_num", 1], ["sh", "-c", "echo told=${TF_CONFIG-nothing}"])
    agent.expect(0)
    assert "told=nothing" in agent.lines(), agent.output()


def test_parameter_servers_and_a_chief(cluster):
    cluster.start_scheduler()
    sizes = ["--worker_num", 2, "--server_num", 1, "--tf_config"]
    agents = start(cluster, sizes, [*DUMP, "worker"])
    agents.append(cluster.start_agent("server", ["--role", "MS_PSERVER", *sizes], [*DUMP, "server"]))
    for agent in agents:
        agent.expect(0)
    told = {name: json.loads((cluster.folder / (name + ".json")).read_text()) for name in ("worker0", "worker1", "server0")}
    assert [each["task"]["type"] for each in told.values()] == ["chief", "worker", "ps"]
    assert all(each["task"]["index"] == 0 for each in told.values())
    assert {kind: len(each) for kind, each in told["server0"]["cluster"].items()} == {"chief": 1, "worker": 1, "ps": 1}


@pytest.fixture
def tensorflow():
    """TensorFlow's CPU build, if `venv.sh tensorflow` has been run: it is too big to download for each run."""
    python = os.environ.get("MUSTER_TEST_TENSORFLOW_VENV", CACHE / "venv-tensorflow") / pathlib.Path("bin/python")
    if not python.exists() or subprocess.run([python, "-c", "import tensorflow"], capture_output=True).returncode:
        pytest.skip("no TensorFlow at %s (bash tests/e2e/venv.sh tensorflow)" % python)
    return python


def test_multi_worker_mirrored_strategy_sums_over_all(cluster, tensorflow):
    cluster.start_scheduler()
    agents = start(cluster, ["--worker_num", 2, "--tf_config"], [tensorflow, SCRIPTS / "train_tf_config.py"])
    for index, agent in enumerate(agents):
        agent.expect(0, timeout=120)
        assert "worker %d of 2: sum=3" % index in agent.output(), agent.output()
