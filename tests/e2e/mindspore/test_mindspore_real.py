"""The real MindSpore, unmodified, on Muster. Skipped, with the reason, if MUSTER_MINDSPORE_PYTHON names no Python that
has it (`tests/e2e/venv.sh mindspore` makes one)."""

import json
import os
import re
import subprocess

import pytest

import processes
from mindspore_crash import begins_anew_after_its_crash, expect_ends
from muster import BIN, ROOT, SCRIPTS, free_port, kill_now

PYTHON = os.environ.get("MUSTER_MINDSPORE_PYTHON", "")
TRAIN = SCRIPTS / "train_mindspore.py"

pytestmark = pytest.mark.skipif(not PYTHON, reason="the real MindSpore is not here: MUSTER_MINDSPORE_PYTHON is empty")

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
QUIET = {"GLOG_v": "3", "OMP_NUM_THREADS": "1"}


def losses(text):
    """The losses that rank 0 printed."""
    return [float(loss) for loss in re.findall(r"\[rank 0\] epoch: \d+, step: \d+, loss is (\S+)", text)]


def final_loss(text):
    return float(re.search(r"\[rank 0\] final loss (\S+)", text).group(1))


@pytest.mark.parametrize("workers", [4, 8] if IS_LONG else [4])
@begins_anew_after_its_crash
def test_on_one_machine(cluster, measured, workers):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", workers, "--", PYTHON,
                                    TRAIN], env=QUIET)
    expect_ends([agent])
    text = agent.output()
    assert text.count("sum of ranks is %d" % (workers * (workers - 1) // 2)) == workers, agent.tail()
    for rank in range(workers):
        assert re.search(r"\[rank %d\] rank %d of %d, local rank %d, device %d," % ((rank, rank, workers) + (rank,) * 2),
                         text)
    found = losses(text)
    assert found[-1] < found[0] / 2, found
    slowest = max(float(t) for t in re.findall(r"first step after (\S+) s", text))
    measured("time to the first step, %d workers" % workers, slowest, at_most=120)


@pytest.mark.skipif(not IS_LONG, reason="for comparison only; MUSTER_LONG=1 runs it")
@begins_anew_after_its_crash
def test_the_same_job_under_mindspores_own_scheduler(cluster, measured):
    """For comparison: the document's way, with a scheduler process of MindSpore."""
    env = dict(cluster.env, **QUIET, MS_WORKER_NUM="4", MS_SCHED_HOST="127.0.0.1",
               MS_SCHED_PORT=str(free_port()))
    started = []
    for number in range(5):
        role = {"MS_ROLE": "MS_SCHED"} if number == 4 else {"MS_ROLE": "MS_WORKER", "MS_NODE_ID": str(number)}
        started.append(cluster.start("own%d" % number, [PYTHON, TRAIN], env=dict(env, **role)))
    expect_ends(started[:4])
    slowest = max(float(re.search(r"first step after (\S+) s", p.output()).group(1)) for p in started[:4])
    measured("time to the first step with MindSpore's own scheduler, 4 workers", slowest, at_most=120)


@begins_anew_after_its_crash
def test_on_two_machines_of_one_name(cluster, network):
    """2 x 2 over two network namespaces with the same host name: local ranks and devices count per machine."""
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 4, "--once", host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--node_rank", i],
                                  [PYTHON, TRAIN], netns=machine.name, env=QUIET)
              for i, machine in enumerate((first, second))]
    expect_ends(agents)
    for number, agent in enumerate(agents):
        for local in range(2):
            rank = 2 * number + local
            assert re.search(r"rank %d of 4, local rank %d, device %d," % (rank, local, local), agent.output()), \
                agent.tail()
    assert agents[0].output().count("sum of ranks is 6") == 2


def test_a_killed_worker_is_recovered(cluster):
    """MindSpore's crash at its end is a death like any other here: recovery brings the job back."""
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


@begins_anew_after_its_crash
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
    expect_ends([agent], timeout=60)
    assert again.is_running()


class TlsFiles:
    """The files of docs/certificates.md: `ms-ctl certs` with a password makes a JSON that MindSpore accepts, too.
    (MindSpore looks for relative paths in its working folder.)"""

    PASSWORD = "of-both-files"

    def __init__(self, cluster):
        self.folder = cluster.folder / "certs"
        self.env = {"MS_TLS_SERVER_PASSWORD": self.PASSWORD, "MS_TLS_CLIENT_PASSWORD": self.PASSWORD}
        for words in (["init"], ["scheduler", "--host", "127.0.0.1"], ["node", "--id", "*", "--name", "node"]):
            subprocess.run([BIN / "ms-ctl", "certs", *words, "--dir", self.folder], check=True, timeout=60,
                           env=dict(cluster.env, **self.env), stdout=subprocess.DEVNULL)
        fields = json.loads((self.folder / "node" / "tls.json").read_text())
        for name, value in fields.items():
            if name.endswith("_path"):
                fields[name] = str(self.folder / "node" / value)
        self.script_json = cluster.folder / "ssl.json"
        self.script_json.write_text(json.dumps(fields))

    def of(self, name):
        return dict(self.env, MS_TLS_CONFIG=self.folder / name / "tls.json")

    def of_script(self):
        return dict(QUIET, SSL_CONFIG=self.script_json, SSL_PASSWORD=self.PASSWORD)


@begins_anew_after_its_crash
def test_a_script_with_enable_ssl(cluster):
    """set_ps_context(enable_ssl=True, ...): the frames between the processes and their gateways are in TLS."""
    files = TlsFiles(cluster)
    cluster.start_scheduler("--worker_num", 2, "--once", env=files.of("scheduler"))
    agent = cluster.start_agent("agent", ["--worker_num", 2, "--local_worker_num", 2, "--node_id", "n"],
                                [PYTHON, TRAIN], env=dict(files.of("node"), **files.of_script()))
    expect_ends([agent])
    assert agent.output().count("sum of ranks is 1") == 2, agent.tail()


@pytest.mark.parametrize("has_tls", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("workers", [2])
@begins_anew_after_its_crash
def test_without_an_agent(cluster, workers, has_tls):
    """With --mindspore_port, MindSpore's processes register with ms-scheduler itself."""
    port = free_port()
    files = TlsFiles(cluster) if has_tls else None
    # With --require_tls this end accepts only TLS.
    scheduler = cluster.start_scheduler("--worker_num", workers, "--mindspore_port", port,
                                        *(["--require_tls"] if has_tls else []),
                                        env=files.of("scheduler") if has_tls else None)
    env = dict(files.of_script() if has_tls else QUIET, MS_WORKER_NUM=str(workers), MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(port),
               MS_ROLE="MS_WORKER")
    started = [cluster.start("worker%d" % i, [PYTHON, TRAIN], env=dict(env, MS_NODE_ID=str(i))) for i in range(workers)]
    expect_ends(started)
    scheduler.expect_said("all MindSpore processes have ended well")


@begins_anew_after_its_crash
def test_the_example(cluster):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--", PYTHON,
                                    ROOT / "examples" / "mindspore" / "train.py"], env=QUIET)
    expect_ends([agent])
    found = [float(loss) for loss in re.findall(r"\[rank 0\] step \d+: loss (\S+)", agent.output())]
    assert len(found) == 4 and found[-1] < found[0], agent.tail()
    assert "[rank 0] done" in agent.lines(), agent.tail()
