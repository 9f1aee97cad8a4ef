"""The example for torchft, with the real one and PyTorch: a replica group dies, the other one goes on training."""

import os
import re

import pytest

import torchft
from muster import ROOT, eventually, kill_now

pytestmark = pytest.mark.xdist_group("torchft")

PYTHON = os.environ.get("MUSTER_PYTHON", "")
TRAIN = ROOT / "examples" / "pytorch" / "train_torchft.py"


@pytest.mark.skipif(not PYTHON, reason="no PyTorch that torchft supports: MUSTER_PYTHON is empty")
def test_a_replica_group_dies_and_comes_back(cluster, tmp_path):
    environment = {"PYTHONPATH": torchft.python_path(), "OTEL_SDK_DISABLED": "true"}
    cluster.start_scheduler()
    groups = [cluster.start_agent("train-%d" % i, ["--job_id", "train-%d" % i, "--worker_num", 1, "--machine", "m%d" % i,
                                                   "--lighthouse", "train", "--enable_recovery"],
                                  [PYTHON, TRAIN, "--steps", "150", "--step-seconds", "0.1", "--checkpoints", tmp_path / "ckpt"],
                                  env=environment) for i in range(2)]

    def steps(group):
        return [(int(step), loss, int(size)) for step, loss, size in
                re.findall(r"step (\d+): loss (\S+) with (\d+)", group.output())]
    eventually(lambda: all(steps(group)[-1:] and steps(group)[-1][2] == 2 for group in groups), 60, "both train together")
    shown = cluster.ctl_json("status")["lighthouses"]
    assert [one["name"] for one in shown] == ["train"] and len(shown[0]["members"]) == 2, shown
    kill_now(cluster.wait_until_running(1, "train-0")[0]["pid"])
    mark = len(steps(groups[1]))
    for group in groups:
        group.expect(0, timeout=90)
    after = steps(groups[1])[mark:]
    assert {size for _, _, size in after} == {1, 2}, "it trained alone, and with the other one again: %s" % after
    assert [step for step, _, _ in steps(groups[1])] == sorted({step for step, _, _ in steps(groups[1])}), "no step is lost"
    assert steps(groups[0])[-1] == steps(groups[1])[-1], "with the same state"
    assert (tmp_path / "ckpt" / "train-1.pt").exists()
