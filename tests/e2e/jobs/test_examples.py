"""Runs the commands of examples/README.md unchanged, as a new user would type them."""

import re

import processes
from muster import BIN, ROOT, eventually, kill_now

EXAMPLES = ROOT / "examples"
PYTHON = "/usr/bin/python3"


def standalone(cluster, slots, *command, words=()):
    return cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", slots, *words, "--",
                                   *command], env={"OMP_NUM_THREADS": "1"})


def losses(text):
    return [float(loss) for loss in re.findall(r"epoch \d+: loss (\S+)", text)]


def test_a_shell_script(cluster):
    agent = standalone(cluster, 3, "sh", EXAMPLES / "shell" / "hello.sh")
    agent.expect(0)
    for rank in range(3):
        line = "[rank %d] rank %d of 3, local rank %d, on node 0 of 1; rank 0 is at 127.0.0.1" % ((rank,) * 3)
        assert line in agent.lines(), agent.output()


def test_what_is_done_stays_done_when_a_rank_is_killed(cluster):
    agent = standalone(cluster, 3, PYTHON, EXAMPLES / "python" / "work_queue.py", "--piece-seconds", "0.3",
                       words=["--enable_recovery", "--stop_timeout", 1])
    eventually(lambda: agent.output().count("is done") >= 3, 30, "some pieces are done")
    kill_now([process for process in processes.descendants(agent.pid) if "work_queue" in process.command][-1].pid)
    agent.expect(0, timeout=60)
    assert "the sum is 506" in agent.output(), agent.output()  # the sum of the squares of 0 to 11
    done = re.findall(r"piece (\d+) is done", agent.output())
    assert set(done) == {str(piece) for piece in range(12)} and len(done) < 24, "not all of them again"


def test_pytorch_without_checkpoints(cluster):
    agent = standalone(cluster, 4, PYTHON, EXAMPLES / "pytorch" / "train_ddp.py")
    agent.expect(0, timeout=120)
    found = losses(agent.output())
    assert len(found) == 5 and found[-1] < found[0] and "[rank 0] done" in agent.lines(), agent.output()


def test_pytorch_goes_on_from_its_checkpoint_when_a_process_is_killed(cluster):
    folder = cluster.folder / "ckpt"
    agent = standalone(cluster, 2, PYTHON, EXAMPLES / "pytorch" / "train_ddp.py", "--checkpoints", folder, "--epochs",
                       "6", "--step-seconds", "0.05", words=["--enable_recovery", "--stop_timeout", 2])
    eventually(lambda: (folder / "epoch_2.pt").exists(), 60, "two epochs are done")
    kill_now([process for process in processes.descendants(agent.pid) if "train_ddp" in process.command][-1].pid)
    agent.expect(0, timeout=120)
    resumed = re.search(r"rank 0 goes on after epoch (\d+)", agent.output())
    assert resumed and int(resumed.group(1)) >= 2, agent.output()
    assert sorted(path.name for path in folder.iterdir()) == ["epoch_%d.pt" % epoch for epoch in range(1, 7)]
    assert agent.output().count("[rank 0] done") == 1
