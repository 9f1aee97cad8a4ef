"""The real JAX, unmodified, with the agents as its coordination service. Skipped, with the reason, if MUSTER_JAX_PYTHON
names no Python that has it (`tests/e2e/venv.sh jax` makes one)."""

import os
import pathlib
import re
import signal
import time

import pytest

import processes
from muster import BIN, EXIT_STOPPED, ROOT, SCRIPTS, WITH_TLS, eventually, free_port, kill_now
from resuming import journal_words

PYTHON = os.environ.get("MUSTER_JAX_PYTHON", "")
TRAIN = SCRIPTS / "train_jax.py"
JAX = {"JAX_PLATFORMS": "cpu"}
IS_LONG = os.environ.get("MUSTER_LONG") == "1"
KILLS = 20 if IS_LONG else 1
LINK_CUT = 20 if IS_LONG else 8  # seconds

OLDER = [python for python in os.environ.get("MUSTER_OLDER_JAX_PYTHONS", "").split(":") if python]

needs_jax = pytest.mark.skipif(not PYTHON, reason="the real JAX is not here: MUSTER_JAX_PYTHON is empty")


def losses(text):
    return re.findall(r"step \d+, loss is (\S+)", text)


class Job:
    """Two agents with two ranks each."""

    def __init__(self, cluster, *scheduler_words, python=PYTHON):
        self.cluster = cluster
        self.python = python
        self.words = ["--worker_num", 4, *journal_words(cluster), *scheduler_words]
        self.scheduler = cluster.start_scheduler(*self.words)
        self.agents = []

    def start(self, *words, agent_words=()):
        self.agents = [self.cluster.start_agent("agent%d" % i, ["--local_worker_num", 2, "--machine", "m%d" % i,
                                                                *agent_words], [self.python, TRAIN, *words], env=JAX)
                       for i in range(2)]
        return self

    def said(self):
        return "".join(agent.output() for agent in self.agents)

    def wait_for_step(self, step):
        eventually(lambda: "step %d," % step in self.said(), 60, "step %d" % step)

    def pid_of(self, rank):
        return next(r["pid"] for r in self.cluster.wait_until_running(4) if r["rank"] == rank)


def python_id(python):
    return pathlib.Path(python).parent.parent.name or "none"


def test_many_agents_start_at_once(cluster):
    """Uses the gateways' own code, and simulated processes."""
    if WITH_TLS or not (BIN / "muster_load").exists():
        pytest.skip("no muster_load beside MUSTER_BIN, or over TLS")
    scheduler = cluster.start_scheduler(*journal_words(cluster))
    load = cluster.start("load", [BIN / "muster_load", "--measure", "jax", "--agents", 60, "--slots", 4, "--target",
                                  "127.0.0.1:%d" % scheduler.port])
    load.expect(0, timeout=60)
    assert '"failed": 0' in load.output()


@needs_jax
@pytest.mark.parametrize("python", [PYTHON, *OLDER], ids=python_id)
def test_a_job_has_the_losses_of_a_run_without_muster(cluster, python):
    job = Job(cluster, python=python).start("5")
    for agent in job.agents:
        agent.expect(0, timeout=60)
    said = job.said()
    assert said.count("sum of ranks is 6") == 4 and said.count("is done") == 4, said
    assert re.search(r"process 3 of 4 sees 4 devices", said)
    port = str(free_port())
    alone = [cluster.start("alone%d" % rank, [python, TRAIN, "5"],
                           env=dict(os.environ, **JAX, JAX_COORDINATOR_ADDRESS="127.0.0.1:" + port,
                                    JAX_NUM_PROCESSES="4", JAX_PROCESS_ID=str(rank))) for rank in range(4)]
    for process in alone:
        process.expect(0, timeout=60)
    assert losses(said) == losses(alone[0].output()) != []


@needs_jax
@pytest.mark.parametrize("python", [PYTHON, *OLDER], ids=python_id)
def test_the_others_hear_at_once_why_process_0_died(cluster, python):
    job = Job(cluster, python=python).start("1000", "0.05")
    job.wait_for_step(3)
    begin = time.monotonic()
    kill_now(job.pid_of(0))
    assert all(agent.wait(30) != 0 for agent in job.agents)
    took = time.monotonic() - begin
    assert took < 5, "%.1f s; without Muster it takes up to 100 s" % took
    for rank in (1, 2, 3):
        assert re.search(r"\[rank %d\].*rank 0 on \S+ \(node \S+\) was killed by SIGKILL" % rank, job.said()), job.said()
    assert "failed: rank 0 on" in job.agents[1].output(), "not one that ended on request"


@needs_jax
def test_a_job_restarts_after_the_death_of_any_process(cluster):
    job = Job(cluster, "--enable_recovery", "--max_restarts", KILLS).start("60", "0.05")
    for kill in range(KILLS):
        eventually(lambda: job.said().count("step 3,") == kill + 1, 120, "step 3 of round %d" % (kill + 1))
        kill_now(job.pid_of(kill % 4))
    for agent in job.agents:
        agent.expect(0, timeout=150)  # the last restart may wait for a minute
    assert job.said().count("is done") == 4, job.said()


@needs_jax
def test_no_process_notices_that_the_scheduler_died(cluster):
    job = Job(cluster).start("80", "0.1")
    job.wait_for_step(3)
    job.scheduler.send(signal.SIGKILL)
    job.scheduler.wait(10)
    job.wait_for_step(30)
    cluster.start_scheduler(*job.words, name="again", port=job.scheduler.port)
    for agent in job.agents:
        agent.expect(0, timeout=60)
    assert job.said().count("is done") == 4 and "coordination service" not in job.said(), job.said()


@needs_jax
def test_no_process_notices_that_the_schedulers_link_was_cut(cluster, network):
    """The ranks are on two machines; the scheduler is on a third."""
    machines = network.star(3)
    hosts = "127.0.0.1 localhost\n" + "".join("%s node%d\n" % (m.address, i) for i, m in enumerate(machines))
    for machine in machines:
        machine.set_hosts(hosts)
    cluster.start_scheduler("--worker_num", 4, *journal_words(cluster), host=machines[0].address,
                            netns=machines[0].name)
    steps = 20 + 10 * LINK_CUT
    agents = [cluster.start("agent%d" % i, ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', "node%d" % i,
                                            BIN / "ms-worker", *map(str, cluster.agent_words()), "--local_worker_num", "2",
                                            "--", PYTHON, TRAIN, str(steps), "0.2"], env=JAX, netns=machines[i].name)
              for i in (1, 2)]

    def last_step():
        said = "".join(agent.output() for agent in agents)
        return max([int(step) for step in re.findall(r"step (\d+),", said)] or [0])

    eventually(lambda: last_step() >= 3, 60, "step 3")
    machines[0].cut_cable()
    begin, first = time.monotonic(), last_step()
    eventually(lambda: time.monotonic() - begin >= LINK_CUT, LINK_CUT + 5, "the link was cut for long enough")
    assert last_step() - first >= LINK_CUT, "they trained on"
    machines[0].plug_cable()
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("is done") == 2 and "coordination service" not in agent.output(), agent.output()


@needs_jax
def test_a_stuck_process_is_reported_and_all_start_again(cluster):
    """The others wait for it, all at the same step. The cause names it, since the kernel reports that it is stopped."""
    job = Job(cluster, "--enable_recovery", "--max_restarts", 10, "--progress_timeout", 5,
              "--stop_timeout", 3).start("80", "0.05")
    job.wait_for_step(3)
    os.kill(job.pid_of(2), signal.SIGSTOP)
    told = r"no progress for 5 s \(--progress_timeout\): rank 2 on \S+ \(node \S+\) is stopped, by a signal or a debugger"
    eventually(lambda: re.search(told, job.said()), 30, "it is reported")
    for agent in job.agents:
        agent.expect(0, timeout=60)
    assert job.said().count("is done") == 4, job.said()


@needs_jax
def test_a_stop_does_not_wait_for_processes_that_ignore_sigterm(cluster):
    """JAX's processes ignore SIGTERM after initialize()."""
    job = Job(cluster).start("1000", "0.05")
    job.wait_for_step(3)
    begin = time.monotonic()
    cluster.ctl("stop", "default", "--yes")
    for agent in job.agents:
        agent.wait(20)
    assert time.monotonic() - begin < 5


class SavingJob:
    """Nodes n0, n1, … with one rank each and the spare node s. The script saves where JAX's sync point says so."""

    def __init__(self, cluster, nodes, steps=150, long_step=(), agent_words=(), python=PYTHON):
        self.folder = cluster.folder / "saved"
        self.folder.mkdir()
        command = [python, SCRIPTS / "checkpoint_jax.py", steps, "0.05", self.folder, *long_step]
        cluster.start_scheduler("--worker_num", nodes, *journal_words(cluster))

        def start(node, *words):
            return cluster.start_agent(node, ["--node_id", node, "--machine", node, "--enable_recovery", *agent_words,
                                              *words], command, env=JAX)

        self.agents = {node: start(node) for node in ["n%d" % i for i in range(nodes)]}
        self.spare = start("s", "--spare")
        self.nodes = nodes
        eventually(lambda: "step 3\n" in self.said(), 60, "step 3")

    def said(self):
        return "".join(agent.output() for agent in self.agents.values())

    def saved_step(self):
        """The step at which all ranks have stopped: it must be the same."""
        (step,) = self.folder.iterdir()
        assert sorted(path.name for path in step.iterdir()) == [str(rank) for rank in range(self.nodes)]
        return int(step.name)

    def expect_to_go_on_without(self, node):
        """The spare must replace the node."""
        said = ""
        for agent in [*(agent for name, agent in self.agents.items() if name != node), self.spare]:
            agent.expect(0, timeout=90)
            said += agent.output()
        goes_on = "goes on with step %d" % (self.saved_step() + 1)
        assert said.count(goes_on) == said.count("is done") == self.nodes, said


@needs_jax
@pytest.mark.parametrize("python", [PYTHON, *OLDER], ids=python_id)
def test_a_drain_makes_one_checkpoint_of_one_step(cluster, python):
    job = SavingJob(cluster, 4, python=python)
    said = cluster.ctl("drain", "n2", "--now", "--reason", "a fan is broken")
    assert "node n2" in said and "leaves now" in said and "spare s can take its place" in said, said
    job.agents["n2"].expect(EXIT_STOPPED, timeout=60)
    job.expect_to_go_on_without("n2")
    assert "a fan is broken" in job.said()


@needs_jax
def test_a_node_that_must_leave_makes_all_save_the_same_step(cluster):
    job = SavingJob(cluster, 2)
    job.agents["n1"].send(signal.SIGTERM)
    assert job.agents["n1"].wait(60) == 128 + signal.SIGTERM
    job.expect_to_go_on_without("n1")


@needs_jax
def test_a_stop_makes_all_save_the_same_step(cluster):
    job = SavingJob(cluster, 2, steps=10000)
    begin = time.monotonic()
    cluster.ctl("stop", "default", "--yes", "--reason", "for lunch")
    for agent in job.agents.values():
        assert agent.wait(60) != 0 and "for lunch" in agent.output()
    assert time.monotonic() - begin < 10
    assert job.saved_step() >= 3 and job.said().count("stops after step") == 2


@needs_jax
def test_a_process_that_misses_the_sync_point_is_sent_the_reason_of_its_end(cluster):
    job = SavingJob(cluster, 2, steps=10000, long_step=[10], agent_words=["--stop_timeout", 3])
    eventually(lambda: "step 10\n" in job.said(), 60, "a step that does not end")
    begin = time.monotonic()
    cluster.ctl("stop", "default", "--yes", "--reason", "for lunch")
    for agent in job.agents.values():
        agent.wait(60)
    assert 1 < time.monotonic() - begin < 10 and not list(job.folder.iterdir())
    for agent in job.agents.values():
        assert re.search(r"absl::Status: .*for lunch", agent.output()), agent.output()


@needs_jax
def test_initialize_without_arguments(cluster):
    cluster.start_scheduler("--worker_num", 4)
    (cluster.folder / "bare.py").write_text(
        "import jax\njax.distributed.initialize()\n"
        "print('process', jax.process_index(), 'of', jax.process_count(), 'sees', jax.device_count(), flush=True)\n")
    agents = [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2, "--machine", "m%d" % i, "--jax", "auto-detect"],
                                  [PYTHON, cluster.folder / "bare.py"], env=JAX) for i in range(2)]
    for agent in agents:
        agent.expect(0, timeout=60)
    said = "".join(agent.output() for agent in agents)
    assert all("process %d of 4 sees 4" % rank in said for rank in range(4)), said


@needs_jax
def test_the_example_goes_on_from_its_checkpoint_when_process_0_is_killed(cluster):
    def train(name, folder):
        return cluster.start(name, [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--enable_recovery", "--",
                                    PYTHON, ROOT / "examples" / "jax" / "train.py", "--checkpoints", folder,
                                    "--step-seconds", "0.05"], env=JAX)

    def last_loss(agent):
        return re.search(r"epoch 5: loss (\S+)", agent.output()).group(1)

    undisturbed, folder = train("undisturbed", cluster.folder / "whole"), cluster.folder / "ckpt"
    undisturbed.expect(0, timeout=60)
    agent = train("agent", folder)
    eventually(lambda: (folder / "step_20.npz").exists(), 60, "two epochs are done")
    kill_now(next(process.pid for process in processes.descendants(agent.pid) if process.command.startswith(PYTHON) and
                  "JAX_PROCESS_ID=0" in pathlib.Path("/proc/%d/environ" % process.pid).read_text().split("\0")))
    agent.expect(0, timeout=60)
    resumed = re.findall(r"process \d goes on after step (\d+)", agent.output())
    assert len(resumed) == 2 and int(resumed[0]) >= 20, agent.output()
    assert sorted(path.name for path in folder.iterdir()) == ["step_%d.npz" % (10 * epoch) for epoch in range(1, 6)]
    assert agent.output().count("[rank 0] done") == 1 and last_loss(agent) == last_loss(undisturbed)


# (Not the variable's whole name, which would show that the script takes its address from there.)
ASKS = """
import os
names = ("COORDINATOR_ADDRESS", "COORDINATOR_BIND_ADDRESS", "NUM_PROCESSES", "PROCESS_ID")
print("coordinator", *(os.environ.get("JAX_" + name) for name in names), flush=True)
"""


def said_by(cluster, name, script, *words):
    (cluster.folder / "jax.py").write_text("")
    path = cluster.folder / (name + ".py")
    path.write_text(script + ASKS)
    agent = cluster.start(name, [BIN / "ms-worker", "--standalone", *words, "python3", path])
    agent.expect(0, timeout=30)
    return agent.output()


def test_a_script_that_imports_jax_is_served_and_others_are_left_alone(cluster):
    served = said_by(cluster, "imports", "import jax\n")
    assert re.search(r"coordinator 127\.0\.0\.1:\d+ 127\.0\.0\.1:0 1 0", served), served
    nothing = "coordinator None None None None"
    assert nothing in said_by(cluster, "other", "import json\n")
    assert nothing in said_by(cluster, "none", "import jax\n", "--jax", "none")
    own = "import jax\n# jax.distributed.initialize(coordinator_address='10.0.0.1:1234', num_processes=1)\n"
    left_alone = said_by(cluster, "own", own)
    assert nothing in left_alone and "names a coordinator_address of its own" in left_alone, left_alone
    taken = "import jax, os\n# initialize(coordinator_address=os.environ['JAX_COORDINATOR_ADDRESS'])\n"
    assert "127.0.0.1:0 1 0" in said_by(cluster, "taken", taken)
    assert "127.0.0.1:0 1 0" in said_by(cluster, "on", own, "--jax", "on")
