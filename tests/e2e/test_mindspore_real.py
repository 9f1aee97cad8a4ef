"""The real MindSpore, unmodified, on Muster. Skipped, in words, where MUSTER_MINDSPORE_PYTHON names no Python with it
(`tests/e2e/venv.sh mindspore` makes one)."""

import os
import re

import pytest

import processes
from muster import BIN, HERE, free_port, kill_now

PYTHON = os.environ.get("MUSTER_MINDSPORE_PYTHON", "")
TRAIN = HERE / "train_mindspore.py"

pytestmark = pytest.mark.skipif(not PYTHON, reason="the real MindSpore is not here: MUSTER_MINDSPORE_PYTHON is empty")

QUIET = {"GLOG_v": "3", "OMP_NUM_THREADS": "1"}


def losses(text):
    """The losses as rank 0 printed them."""
    return [float(loss) for loss in re.findall(r"\[rank 0\] epoch: \d+, step: \d+, loss is (\S+)", text)]


def final_loss(text):
    return float(re.search(r"\[rank 0\] final loss (\S+)", text).group(1))


@pytest.mark.parametrize("workers", [4, 8])
def test_on_one_machine(cluster, measured, workers):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", workers, "--", PYTHON,
                                    TRAIN], env=QUIET)
    agent.expect(0, timeout=300)
    text = agent.output()
    assert text.count("sum of ranks is %d" % (workers * (workers - 1) // 2)) == workers, agent.tail()
    for rank in range(workers):
        assert re.search(r"\[rank %d\] rank %d of %d, local rank %d, device %d," % ((rank, rank, workers) + (rank,) * 2),
                         text)
    found = losses(text)
    assert found[-1] < found[0] / 2, found
    slowest = max(float(t) for t in re.findall(r"first step after (\S+) s", text))
    measured("time to the first step, %d workers" % workers, slowest, at_most=120)


def test_the_same_job_under_mindspores_own_scheduler(cluster, measured):
    """For comparison: the document's way, a scheduler process of MindSpore's own."""
    env = dict(cluster.env, **QUIET, MS_WORKER_NUM="4", MS_SCHED_HOST="127.0.0.1",
               MS_SCHED_PORT=str(free_port()))
    started = []
    for number in range(5):
        role = {"MS_ROLE": "MS_SCHED"} if number == 4 else {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(number)}
        started.append(cluster.start("own%d" % number, [PYTHON, TRAIN], env=dict(env, **role)))
    for program in started[:4]:
        program.expect(0, timeout=300)
    slowest = max(float(re.search(r"first step after (\S+) s", p.output()).group(1)) for p in started[:4])
    measured("time to the first step with MindSpore's own scheduler, 4 workers", slowest, at_most=120)


def test_on_two_machines_of_one_name(cluster, network):
    """2 x 2 over two network namespaces, which share the host name: local ranks and devices count per machine."""
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 4, "--once", host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--node_rank", i],
                                  [PYTHON, TRAIN], netns=machine.name, env=QUIET)
              for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0, timeout=300)
    for number, agent in enumerate(agents):
        for local in range(2):
            rank = 2 * number + local
            assert re.search(r"rank %d of 4, local rank %d, device %d," % (rank, local, local), agent.output()), \
                agent.tail()
    assert agents[0].output().count("sum of ranks is 6") == 2


def test_a_killed_worker_is_recovered(cluster):
    folder = cluster.folder / "weights"
    folder.mkdir()
    env = dict(QUIET, STEP_PAUSE="0.05", EPOCHS="4")
    words = [BIN / "ms-worker", "--standalone", "--local_worker_num", 4, "--enable_recovery", 1, "--stop_timeout", 5]
    undisturbed = cluster.start("undisturbed", [*words, "--job_id", "a", "--", PYTHON, TRAIN], env=env)
    undisturbed.expect(0, timeout=300)
    agent = cluster.start("agent", [*words, "--job_id", "b", "--", PYTHON, TRAIN, folder], env=env)
    agent.expect_said(r"epoch: 1, step: 10", timeout=200)
    victims = [p for p in processes.descendants(agent.pid) if str(TRAIN) in p.command]
    kill_now(victims[-1].pid)
    agent.expect_said(r"resumed at epoch", timeout=100)
    agent.expect(0, timeout=300)
    assert abs(final_loss(agent.output()) - final_loss(undisturbed.output())) < 1e-3


def test_no_process_notices_that_the_scheduler_died(cluster):
    words = ["--worker_num", 2, "--journal_path", cluster.folder / "journal.db"]
    scheduler = cluster.start_scheduler(*words)
    env = dict(QUIET, STEP_PAUSE="0.2", EPOCHS="5")
    agent = cluster.start_agent("agent", ["--worker_num", 2, "--local_worker_num", 2], [PYTHON, TRAIN], env=env)
    agent.expect_said(r"epoch: 0, step: 10", timeout=200)
    kill_now(scheduler.pid)
    scheduler.wait(10)
    agent.expect_said(r"\[rank 0\] final loss", timeout=200)
    agent.expect_said(r"\[rank 1\] final loss", timeout=200)
    assert not re.search(r"Traceback|Failed to connect", agent.output()), agent.tail()
    again = cluster.start_scheduler(*words, name="again", port=scheduler.port)
    agent.expect(0, timeout=60)
    assert again.is_running()


@pytest.mark.parametrize("workers", [2])
def test_without_an_agent(cluster, workers):
    """--mindspore_port: MindSpore's processes register with ms-scheduler itself."""
    port = free_port()
    scheduler = cluster.start_scheduler("--worker_num", workers, "--mindspore_port", port)
    env = dict(QUIET, MS_WORKER_NUM=str(workers), MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(port),
               MS_ROLE="MS_WORKER")
    started = [cluster.start("worker%d" % i, [PYTHON, TRAIN], env=dict(env, MS_NODE_ID=str(i))) for i in range(workers)]
    for program in started:
        program.expect(0, timeout=300)
    scheduler.expect_said("all MindSpore processes have ended well")
