"""Tests with Horovod itself, built with Gloo for PyTorch. MUSTER_HOROVOD_PYTHON names a Python with it; else they skip.

To build 0.28.1 from PyPI's source for Debian's PyTorch 1.13, in a folder of its own: put the headers of libtorch-dev,
libgflags-dev, libgoogle-glog-dev and pybind11-dev into CPLUS_INCLUDE_PATH (also torch/csrc/api/include), make a venv
with --system-site-packages, cffi, cloudpickle and setuptools 66.1.1, then run
HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_MPI=1 HOROVOD_WITH_GLOO=1 pip install --no-build-isolation --no-deps horovod.
"""

import os
import pathlib
import socket

import pytest

from muster import SCRIPTS

PYTHON = os.environ.get("MUSTER_HOROVOD_PYTHON")
TRAIN = SCRIPTS / "train_horovod.py"

pytestmark = pytest.mark.skipif(not PYTHON, reason="MUSTER_HOROVOD_PYTHON names no Python with Horovod")


@pytest.fixture
def machines(network):
    pair = network.pair()
    for machine in pair:
        # For its process sets Horovod 0.28.1 ignores the interface and takes the address of the host's own name.
        machine.set_hosts("127.0.0.1 localhost\n%s %s\n" % (machine.address, socket.gethostname()))
    return pair


@pytest.mark.parametrize("word", ["", "die_once"])
def test_on_two_machines(cluster, machines, word):
    cluster.start_scheduler("--worker_num", 4, host=machines[0].address, netns=machines[0].name)
    words = ["--local_worker_num", 2, "--enable_recovery", "--max_restarts", 1]
    agents = [cluster.start_agent("agent%d" % i, words, [PYTHON, TRAIN, word], netns=machine.name)
              for i, machine in enumerate(machines)]
    for i, agent in enumerate(agents):
        agent.expect(0, timeout=120)
        trained = "cross %d of 2: trained, restarts %d\n" % (i, word == "die_once")
        assert agent.output().count(trained) == 2, agent.output()


def test_horovodrun_through_the_agents(cluster, machines):
    """horovodrun calls the agent in place of ssh. The test names the interface, because by their names the machines
    look the same."""
    cluster.start_scheduler("--worker_num", 4, host=machines[0].address, netns=machines[0].name)
    hosts = ",".join("%s:2" % machine.address for machine in machines)
    command = [pathlib.Path(PYTHON).parent / "horovodrun", "--gloo", "--network-interfaces", "eth0", "-np", 4, "-H", hosts,
               PYTHON, TRAIN]
    first, second = [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2, "--node_rank", i, "--per_job",
                                                         "--allow_exec=insecure"], command, netns=machine.name,
                                         env={"HOME": cluster.folder})
                     for i, machine in enumerate(machines)]
    first.expect(0, timeout=120)
    second.expect(0, timeout=30)
    for rank in range(4):
        assert "rank %d of 4, local %d of 2, cross %d of 2: trained" % (rank, rank % 2, rank // 2) in first.output()
    assert "remote command of" in second.output(), second.output()
