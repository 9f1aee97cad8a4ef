"""The startup scripts of the document about dynamic clusters, with `ms-worker -- python train.py` for both roles."""

import json
import os
import re
import shutil

import pytest

import processes
from muster import SCRIPTS, TRAIN, eventually


class Machine:
    """A working folder as in the document. Starts the script in a network namespace."""

    def __init__(self, cluster, netns, python, name):
        processes.reap_adopted(set())  # left over from an earlier test
        self.cluster, self.netns = cluster, netns
        self.folder = cluster.folder / name
        self.dumps = self.folder / "dumps"
        self.dumps.mkdir(parents=True)
        shutil.copy(TRAIN, self.folder / "train.py")
        binaries = self.folder / "bin"
        binaries.mkdir()
        (binaries / "python").write_text('#!/bin/sh\nexec "%s" "$@"\n' % python)
        (binaries / "python").chmod(0o755)
        self.env = {"PATH": "%s:%s" % (binaries, cluster.env["PATH"]), "DUMP_ENV_DIR": self.dumps}

    def run(self, script, **env):
        shell = self.cluster.start("%s-%s" % (self.folder.name, script), ["bash", SCRIPTS / script],
                                   env={**self.env, **env}, cwd=self.folder, netns=self.netns.name)
        shell.expect(0)
        assert "start training" in shell.output()

    def log(self, name):
        return (self.folder / "device" / name).read_text()


def wait_for_background(timeout):
    """Waits for the agents and scheduler that the scripts leave in the background; returns their exit codes by pid."""
    codes = {}

    def all_gone():
        codes.update(processes.reap_adopted(set()))
        return not processes.descendants(os.getpid(), with_zombies=True)
    eventually(all_gone, timeout, "the job's processes end; left: %s" % processes.descendants(os.getpid()))
    return codes


def check_worker_log(log, rank):
    assert re.search(r"^epoch: 0, step: 0, loss is \d", log, re.MULTILINE), log
    assert not re.search(r"WARNING|ERROR", log), log
    assert ("test accuracy" in log) == (rank == 0), log


@pytest.mark.xdist_group("port 8118")
def test_eight_workers_on_one_machine_twice_in_a_row(cluster, network, any_torch):
    machine = Machine(cluster, network.machine(), any_torch, "machine")
    for _ in range(2):
        shutil.rmtree(machine.dumps)
        machine.dumps.mkdir()
        machine.run("run_dynamic_cluster.sh")
        codes = wait_for_background(timeout=180)
        assert list(codes.values()).count(0) == 9 and len(set(codes.values())) == 1, (codes,
                                                                                     machine.log("scheduler.log"))
        for rank in range(8):
            check_worker_log(machine.log("worker_%d.log" % rank), rank)
            dumped = json.loads((machine.dumps / ("rank_%d.json" % rank)).read_text())
            expected = {"RANK": rank, "LOCAL_RANK": rank, "DEVICE_ID": rank, "WORLD_SIZE": 8, "LOCAL_WORLD_SIZE": 8,
                        "NNODES": 1, "NODE_RANK": 0, "MS_NODE_ID": rank, "RANK_ID": rank, "RANK_SIZE": 8,
                        "MS_WORKER_NUM": 8, "MS_ROLE": "MS_WORKER"}
            assert {name: dumped.get(name) for name in expected} == {name: str(v) for name, v in expected.items()}


@pytest.mark.xdist_group("port 8118")
def test_four_and_four_on_two_machines_of_one_name(cluster, network, any_torch):
    first, second = network.pair()
    machines = [Machine(cluster, first, any_torch, "machine1"), Machine(cluster, second, any_torch, "machine2")]
    # gloo uses the interface of the address to which the host's name resolves; the namespaces share the name.
    env = {"NODE_1_ADDRESS": first.address, "GLOO_SOCKET_IFNAME": "eth0"}
    machines[0].run("run_dynamic_cluster_1.sh", **env)
    machines[1].run("run_dynamic_cluster_2.sh", **env)
    codes = wait_for_background(timeout=180)
    assert list(codes.values()).count(0) == 9 and len(set(codes.values())) == 1, (codes,
                                                                                 machines[0].log("scheduler.log"))
    for rank in range(8):
        node, local_rank = divmod(rank, 4)
        check_worker_log(machines[node].log("worker_%d.log" % rank), rank)
        dumped = json.loads((machines[node].dumps / ("rank_%d.json" % rank)).read_text())
        expected = {"RANK": rank, "LOCAL_RANK": local_rank, "DEVICE_ID": local_rank, "WORLD_SIZE": 8,
                    "LOCAL_WORLD_SIZE": 4, "NNODES": 2, "NODE_RANK": node, "MASTER_ADDR": first.address}
        assert {name: dumped.get(name) for name in expected} == {name: str(v) for name, v in expected.items()}
