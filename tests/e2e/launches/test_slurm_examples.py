"""The batch files of examples/slurm on a real Slurm."""

import os
import re
import signal

import pytest

import processes
import slurm
from muster import ROOT, WITH_TLS, eventually
from resuming import EXIT_GAVE_UP

pytestmark = [pytest.mark.xdist_group("slurm"),
              pytest.mark.skipif(WITH_TLS, reason="no certificate names Slurm's nodes"),
              pytest.mark.skipif(slurm.why_not() is not None, reason=str(slurm.why_not()))]

EXAMPLES = ROOT / "examples" / "slurm"
SHOW = "import os; print('I am', *(os.environ[n] for n in ('RANK', 'WORLD_SIZE', 'LOCAL_RANK')), flush=True)\n"
UNTIL_GO = SHOW + "import time\nwhile not os.path.exists('go'): time.sleep(0.1)\n"


def environment(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return set(file.read().decode(errors="replace").split("\0"))
    except (FileNotFoundError, ProcessLookupError):
        return set()


class Batch:
    """A batch job of one of the examples, with its script."""

    def __init__(self, own_slurm, cluster, name, script, *words, nodes=2, env=None):
        self.slurm, self.cluster = own_slurm, cluster
        (cluster.folder / "train.py").write_text(script)
        cluster.env.update(MS_LOCAL_WORKER="2", **(env or {}))
        said = own_slurm.ask("sbatch", "-N%d" % nodes, "--chdir", cluster.folder, "--output=out", EXAMPLES / name, *words,
                             "train.py")
        self.id = re.search(r"Submitted batch job (\d+)", said).group(1)

    def output(self):
        file = self.cluster.folder / "out"
        return file.read_text() if file.exists() else ""

    def processes(self, name):
        """The pids of its processes that have this name."""
        return [process.pid for process in processes.snapshot()
                if process.name == name and "SLURM_JOB_ID=" + self.id in environment(process.pid)]

    def training_agent(self):
        """The pid of an agent that has training processes, and not the scheduler."""
        for pid in self.processes("ms-worker"):
            names = {process.name for process in processes.descendants(pid)}
            if "python3" in names and "ms-scheduler" not in names:
                return pid
        raise AssertionError("no such agent")

    def see(self, words, count=1, timeout=60):
        eventually(lambda: self.output().count(words) >= count, timeout, "%r in: %s" % (words, self.output()[-3000:]))

    def end(self, state, code=0):
        def shown():
            return self.slurm.ask("scontrol", "show", "job", self.id)
        wanted = {"JobState=%s" % state, "ExitCode=%d:0" % code}
        eventually(lambda: wanted <= set(shown().split()), 60, "the job ends with %s" % wanted)


@pytest.fixture
def batch(cluster):
    made = []

    def make(name, script, *words, nodes=2, **options):
        own_slurm = made[0] if made else slurm.Slurm(cluster, nodes)
        made[:] = [own_slurm]
        return Batch(own_slurm, cluster, name, script, *words, nodes=nodes, **options)
    return make


def test_plain(batch):
    job = batch("plain.sbatch", SHOW)
    job.end("COMPLETED")
    assert sorted(re.findall(r"I am (\d) 4 (\d)", job.output())) == [("0", "0"), ("1", "1"), ("2", "2"), ("3", "3")]


def test_a_spare_node_takes_over(batch, cluster):
    job = batch("spares.sbatch", UNTIL_GO, nodes=3, env={"SPARES": "1"})
    job.see("I am", 4)
    os.kill(job.training_agent(), signal.SIGKILL)
    job.see("round 2", 2)
    job.see("I am", 8)
    (cluster.folder / "go").touch()
    eventually(lambda: job.output().count("(run 1) succeeded") >= 2, 30, job.output()[-2000:])


def test_the_queue_again_unless_the_script_fails(batch):
    job = batch("requeue.sbatch", SHOW + "raise SystemExit(3)")
    job.end("FAILED", EXIT_GAVE_UP)
    assert "Restarts=0" in job.slurm.ask("scontrol", "show", "job", job.id)
    lost = batch("requeue.sbatch", UNTIL_GO, env={"MS_REJOIN_TIMEOUT": "1"})
    eventually(lambda: len(lost.processes("python3")) == 4, 60, "it trains")
    os.kill(lost.training_agent(), signal.SIGKILL)
    eventually(lambda: "Restarts=1" in job.slurm.ask("scontrol", "show", "job", lost.id), 60, lost.output()[-2000:])


def test_apptainer_runs_the_command(batch, cluster):
    program = cluster.folder / "apptainer"
    program.write_text("#!/bin/sh\necho \"apptainer $1 $2 $3 as rank $RANK\"\nshift 3\nexec \"$@\"\n")
    program.chmod(0o755)
    job = batch("apptainer.sbatch", SHOW, "image.sif", env={"APPTAINER": str(program)})
    job.end("COMPLETED")
    assert len(re.findall(r"apptainer exec --nv image.sif as rank \d", job.output())) == 4, job.output()
