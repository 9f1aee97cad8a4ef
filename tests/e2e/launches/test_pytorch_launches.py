"""The ways to start PyTorch jobs by hand on two machines, each as one ms-worker command that is the same on both.

gloo stands in for the devices' own collectives. docs/frameworks/pytorch.md has the lines.
"""

import re

import pytest

import torches
from muster import SCRIPTS

NODES, DEVICES = 2, 2
# Debian's 1.13 crashes by itself under Python 3.11, where its flags have no member that is zero.
TORCHRUN = """#!%s
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda cls, text: Std(int(text)))
from torch.distributed.%s import main
main()
"""


class Machines:
    """Two machines with a scheduler on the first. run() runs one command on both and waits for its end."""

    def __init__(self, cluster, network):
        self.cluster, self.machines = cluster, network.pair()
        cluster.start_scheduler(host=self.machines[0].address, netns=self.machines[0].name)

    def start(self, words, command, slots=DEVICES, name="node"):
        slots = slots if isinstance(slots, (list, tuple)) else [slots] * NODES
        return [self.cluster.start_agent("%s%d" % (name, i), ["--worker_num", sum(slots), "--local_worker_num", slots[i],
                                                        "--node_rank", i, *words], command, netns=machine.name)
                for i, machine in enumerate(self.machines)]

    def run(self, words, *command):
        agents = self.start(words, command)
        for agent in agents:
            agent.expect(0, timeout=120)
        return [agent.output() for agent in agents]


@pytest.fixture
def machines(cluster, network):
    return Machines(cluster, network)


def launcher(cluster, python, name, module):
    """Makes a program of that name that runs PyTorch's launcher."""
    path = cluster.folder / name
    path.write_text(TORCHRUN % (python, module))
    path.chmod(0o755)
    return path


def check(outputs):
    """All ranks trained on their devices and have the same result, without warnings."""
    found = {}
    weights = set()
    for node, text in enumerate(outputs):
        for rank, size, device, weight in re.findall(r"trained rank=(\d+) of (\d+) device=(\d+) seen=\d+ weight=(\d+\.\d{6})", text):
            assert int(size) == NODES * DEVICES
            found[int(rank)] = (node, int(device))
            weights.add(weight)
    assert found == {rank: divmod(rank, DEVICES) for rank in range(NODES * DEVICES)}, outputs
    assert len(weights) == 1, weights
    warned = [line for text in outputs for line in text.splitlines() if re.search(r" WARNING ms-worker|ms-worker: warning", line)]
    assert warned == [], warned


def test_a_script_with_local_rank_and_addr(machines, each_torch):
    """The script sets MASTER_PORT itself, so Muster gets the port, too."""
    check(machines.run(["--torch_master_port", 29501], each_torch, SCRIPTS / "train_by_arguments.py", "--local_rank",
                       "{local_rank}", "--addr", "{master_addr}"))
    assert sorted(path.name for path in machines.cluster.folder.glob("*.ckpt")) == ["epoch0.ckpt", "epoch1.ckpt"]


def test_a_script_that_counts_its_rank(machines, any_torch):
    check(machines.run([], any_torch, SCRIPTS / "train_by_formula.py", "--nproc_per_node", "{nproc_per_node}",
                       "--node_rank", "{node_rank}", "--learning_rate", "0.0001", "--batch_size", "1"))


def test_a_script_that_spawns(machines, any_torch):
    check(machines.run(["--per_node"], any_torch, SCRIPTS / "train_by_spawn.py", "--nodes", "{nnodes}", "--node",
                       "{node_rank}", "--devices", "{nproc_per_node}"))


def test_a_shell_loop(machines, any_torch):
    check(machines.run(["--per_node"], "sh", SCRIPTS / "train_in_a_loop.sh", any_torch, SCRIPTS / "train_by_formula.py"))


def test_torchrun_once_for_each_node(machines, any_torch):
    """torchrun serves the store at the port that was reserved for it."""
    check(machines.run(["--per_node"], launcher(machines.cluster, any_torch, "torchrun", "run"), "--nnodes={nnodes}",
                       "--node_rank={node_rank}", "--nproc_per_node={nproc_per_node}", "--master_addr={master_addr}",
                       "--master_port={master_port}", SCRIPTS / "train_by_formula.py", "--nproc_per_node",
                       "{nproc_per_node}", "--node_rank", "{node_rank}"))


def test_the_old_launcher_once_for_each_node(machines):
    """torch.distributed.launch before 2.0 adds --local_rank; later versions add --local-rank, which such scripts
    refuse."""
    python = torches.python_with("torch-1.13")
    check(machines.run(["--per_node", "--torch_master_port", 29501],
                       launcher(machines.cluster, python, "torchrun", "launch"), "--nnodes={nnodes}",
                       "--node_rank={node_rank}", "--nproc_per_node={nproc_per_node}", "--master_addr={master_addr}",
                       "--master_port={master_port}", SCRIPTS / "train_by_arguments.py", "--addr", "{master_addr}"))


# torch_npu_run takes torchrun's arguments but needs an NPU's PyTorch, so no test can run it.
@pytest.mark.parametrize("name", ["torchrun", "torch_npu_run"])
def test_a_launcher_gets_the_address_of_its_own_store(machines, name):
    tell = machines.cluster.folder / name
    tell.write_text("#!/bin/sh\necho store=${TORCHELASTIC_USE_AGENT_STORE-unset} at $1\n")
    tell.chmod(0o755)
    for text in machines.run(["--per_node"], tell, "{master_addr}:{master_port}"):
        assert re.search(r"store=unset at %s:\d+" % re.escape(machines.machines[0].address), text), text


def test_unequal_nodes_are_warned_of_where_ranks_are_counted(machines):
    agents = machines.start([], ["echo", "node {node_rank} has {nproc_per_node}"], slots=[1, 2])
    for agent in agents:
        agent.expect(0)
        assert agent.output().count("is not the rank in this job: rank 1 would count itself as 1 × 2 + 0 = 2") == 1
        assert "give it {rank} and {world_size} instead of {node_rank}" in agent.output()
    for agent in machines.start([], ["echo", "rank {rank}"], slots=[1, 2], name="plain"):
        agent.expect(0)
        assert "is not the rank in this job" not in agent.output()
