"""Horovod's ranks find each other through their agents, without horovodrun."""

import pytest

from muster import BIN, SCRIPTS

MEETS = SCRIPTS / "meets_like_horovod.py"
ASKS = """
import subprocess, sys, os
port = os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]
listens = subprocess.check_output(["ss", "-Hltn", "sport", "=", port], text=True)
print("listens at", listens.split()[3], flush=True)
"""


@pytest.fixture
def two(cluster, network):
    """Starts an agent with two ranks on each of two machines."""
    machines = network.pair()
    cluster.start_scheduler("--worker_num", 4, host=machines[0].address, netns=machines[0].name)

    def start(words, command):
        return [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2, *words], command, netns=machine.name)
                for i, machine in enumerate(machines)]
    return start


def test_on_two_machines(two):
    for agent in two(["--horovod", "gloo"], ["python3", MEETS]):
        agent.expect(0, timeout=60)
        assert agent.output().count("of 4: met all") == 2, agent.output()


def test_a_restart_finds_nothing_of_the_processes_before(two):
    """The keys of the round before name ports where no process listens any more."""
    agents = two(["--horovod", "gloo", "--enable_recovery", "--max_restarts", 1], ["python3", MEETS, "1"])
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("of 4: met all") == 2, agent.output()
    assert "met once" in agents[0].output() + agents[1].output()


def test_a_script_that_imports_horovod_is_served(cluster):
    (cluster.folder / "horovod").mkdir()
    (cluster.folder / "horovod" / "__init__.py").write_text("")
    script = cluster.folder / "train.py"
    script.write_text("import horovod as hvd\n" + ASKS)
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "python3", script])
    agent.expect(0, timeout=30)
    assert agent.output().count("listens at 127.0.0.1:") == 2, agent.output()


def test_others_are_left_alone(cluster):
    command = ["sh", "-c", "echo port=$HOROVOD_GLOO_RENDEZVOUS_PORT controller=$HOROVOD_CONTROLLER"]
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 1, *command])
    agent.expect(0, timeout=30)
    assert "port= controller=" in agent.output(), agent.output()
    agent = cluster.start("mpi", [BIN / "ms-worker", "--standalone", "--local_worker_num", 1, "--horovod", "mpi",
                                  "--mpi", "none", *command])
    agent.expect(0, timeout=30)
    assert "port= controller=mpi" in agent.output(), agent.output()
