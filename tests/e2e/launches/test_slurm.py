"""srun ms-worker --from slurm --with_scheduler on a real Slurm, with no other argument."""

import os
import re
import shlex
import signal

import pytest

import processes
import slurm
from muster import BIN, SCRIPTS, WITH_TLS, eventually

pytestmark = [pytest.mark.xdist_group("slurm"),
              pytest.mark.skipif(WITH_TLS, reason="no certificate names Slurm's nodes"),
              pytest.mark.skipif(slurm.why_not() is not None, reason=str(slurm.why_not()))]

WORKER = [BIN / "ms-worker", "--from", "slurm", "--with_scheduler"]
SHOW = "import os; print('I am', *(os.environ[n] for n in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'SLURM_PROCID')))"


@pytest.fixture
def own_slurm(cluster):
    return slurm.Slurm(cluster)


def nothing_of_muster_left():
    return not any(process.name.startswith("ms-") for process in processes.descendants(os.getpid()))


def test_pytorch_on_two_nodes_of_two_processes(own_slurm, any_torch):
    step = own_slurm.srun("srun", "-N2", "--ntasks-per-node=1", *WORKER, "--local_worker_num", "2", "--",
                          any_torch, SCRIPTS / "all_reduce.py")
    step.expect(0, timeout=90)
    said = step.output()
    assert re.search(r"from slurm: job_id slurm-\d+-0 .*worker_num 4 \(SLURM_STEP_NUM_TASKS x 2\), sched_host n1", said)
    assert "round 1: ranks 0-1 of 4" in said and "round 1: ranks 2-3 of 4" in said


def test_an_agent_for_each_task_and_two_jobs_at_once(own_slurm):
    jobs = [own_slurm.srun("srun%d" % number, "-N2", "--ntasks-per-node=2", *WORKER, "--", "python3", "-c",
                           SHOW + "; import time; time.sleep(1)") for number in range(2)]
    for job in jobs:
        job.expect(0)
        shown = sorted(re.findall(r"I am (.*)", job.output()))
        assert [line.split()[0] for line in shown] == [line.split()[3] for line in shown] == ["0", "1", "2", "3"]
        assert {line.split()[1] for line in shown} == {"4"}
    eventually(nothing_of_muster_left, 5, "nothing of Muster is left")


def test_a_heterogeneous_step_is_one_job(own_slurm):
    agent = [*WORKER, "--", "python3", "-c", SHOW]
    step = own_slurm.srun("srun", "-N1", "--ntasks-per-node=1", *agent, ":", "-N1", "--ntasks-per-node=2", *agent)
    step.expect(0, timeout=60)
    shown = sorted(re.findall(r"I am (.*)", step.output()))
    assert [line.split()[0] for line in shown] == [line.split()[3] for line in shown] == ["0", "1", "2"], shown
    assert {line.split()[1] for line in shown} == {"3"}


def test_components_with_more_processes_a_task_say_how_many_there_are(own_slurm):
    def agent(slots):
        return [*WORKER, "--worker_num", "3", "--local_worker_num", slots, "--", "python3", "-c", SHOW]

    step = own_slurm.srun("srun", "-N1", "--ntasks-per-node=1", *agent("1"), ":", "-N1", "--ntasks-per-node=1", *agent("2"))
    step.expect(0, timeout=60)
    shown = sorted(re.findall(r"I am (.*)", step.output()))
    assert [line.split()[0] for line in shown] == ["0", "1", "2"], shown
    assert [line.split()[3] for line in shown] == ["0", "1", "1"], shown


def test_a_killed_rank_fails_the_step_and_is_named(own_slurm):
    kill = "import os, time\nif os.environ['RANK'] == '3': os.kill(os.getpid(), 9)\ntime.sleep(60)"
    step = own_slurm.srun("srun", "-N2", "--ntasks-per-node=1", *WORKER, "--local_worker_num", "2", "--",
                          "python3", "-c", kill)
    step.expect(137)  # the highest code that srun saw
    assert re.search(r"failed: rank 3 on .* was killed by SIGKILL", step.output())
    eventually(nothing_of_muster_left, 5, "nothing of Muster is left")


def test_scancel_leaves_nothing(own_slurm):
    step = own_slurm.srun("srun", "-N2", "--ntasks-per-node=1", *WORKER, "--local_worker_num", "2", "--",
                          "python3", "-c", "print('begun', flush=True); import time; time.sleep(60)")
    eventually(lambda: step.output().count("begun") == 4, 30, "all processes run")
    own_slurm.ask("scancel", "-u", "root")
    eventually(lambda: own_slurm.is_empty() and nothing_of_muster_left(), 15, "nothing of the job is left")
    left = [process for process in processes.descendants(os.getpid()) if process.name.startswith("python3")]
    assert not left, left


def test_a_step_outlives_its_nodes_killed_slurmd(own_slurm, cluster):
    wait = "import os, time; print('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.1)"
    step = own_slurm.srun("srun", "-N2", "--ntasks-per-node=1", *WORKER, "--local_worker_num", "2", "--",
                          "python3", "-c", wait)
    eventually(lambda: step.output().count("begun") == 4, 30, "all processes run")
    own_slurm.daemon("slurmd-n2").send(signal.SIGKILL)
    (cluster.folder / "go").touch()
    eventually(lambda: step.output().count("(run 1) succeeded") == 2, 20, "the job succeeded")
    eventually(nothing_of_muster_left, 5, "nothing of Muster is left")


def test_a_signal_before_the_time_limit_lets_processes_save(own_slurm, cluster):
    save = ("import os, pathlib, signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path('saved' + os.environ['RANK']).touch(), sys.exit(0)))\n"
            "time.sleep(300)")
    step = own_slurm.srun("srun", "-N2", "--ntasks-per-node=1", "--time=1", "--signal=TERM@50", *WORKER,
                          "--local_worker_num", "2", "--", "python3", "-c", save)
    assert step.wait(100) != 0
    assert all((cluster.folder / ("saved%d" % rank)).exists() for rank in range(4)), step.output()
    eventually(lambda: own_slurm.is_empty() and nothing_of_muster_left(), 15, "nothing of the job is left")


def test_an_array_of_two_jobs_at_once(own_slurm, cluster):
    words = " ".join(shlex.quote(str(word)) for word in [*WORKER, "--", "python3", "-c", SHOW + "; import time; time.sleep(2)"])
    (cluster.folder / "batch").write_text("#!/bin/sh\nsrun %s\n" % words)
    own_slurm.ask("sbatch", "--array=0-1", "-N2", "--ntasks-per-node=1", "--chdir", cluster.folder,
                  "--output=array-%a.out", cluster.folder / "batch")

    def outputs():
        files = [cluster.folder / ("array-%d.out" % number) for number in range(2)]
        return [file.read_text() if file.exists() else "" for file in files]
    eventually(lambda: own_slurm.is_empty() and all("succeeded" in said for said in outputs()), 60,
               "both have succeeded: %s" % outputs())
    names = {re.search(r"joined job (\S+)", said).group(1) for said in outputs()}
    assert len(names) == 2, "each has a name of its own: %s" % names
    for said in outputs():
        assert sorted(re.findall(r"I am (\d) 2", said)) == ["0", "1"], said
    eventually(nothing_of_muster_left, 5, "nothing of Muster is left")


def test_outside_of_a_step_it_says_srun(cluster):
    agent = cluster.start("agent", [*WORKER, "--", "true"], env={"SLURM_JOB_ID": 7, "SLURM_PROCID": 0})
    agent.expect(2)
    assert "SLURM_STEP_NUM_TASKS is not set: start ms-worker with srun" in agent.output()
