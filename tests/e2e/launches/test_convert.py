"""ms-ctl convert: the old line and the new one do the same."""

import re
import shutil
import subprocess

import pytest

from muster import BIN, SCRIPTS

RANKS = "import os; print('I am %s of %s' % (os.environ[{0!r}], os.environ[{1!r}]), flush=True)"


def converted(cluster, *words):
    done = subprocess.run([BIN / "ms-ctl", "convert", *words], env=cluster.env, check=True, text=True,
                          stdout=subprocess.PIPE)
    return done.stdout.strip()


def run(cluster, name, argv, timeout=60):
    program = cluster.start(name, argv)
    program.expect(0, timeout=timeout)
    return program.output()


def test_mpirun_before_and_after(cluster):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun (deploy/install-deps.sh --tests)")
    script = cluster.folder / "ranks.py"
    script.write_text(RANKS.format("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
    old = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "python3", str(script)]
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], text=True, stdout=subprocess.PIPE).stdout:
        pytest.skip("mpirun is not Open MPI's")
    before = run(cluster, "before", old)
    line = converted(cluster, *old)
    after = run(cluster, "after", ["sh", "-c", line.replace("ms-worker ", "ms-worker --ompi_env ", 1)])
    for said in (before, after):
        assert sorted(re.findall(r"I am (\d of \d)", said)) == ["0 of 2", "1 of 2"]


def test_torchrun_before_and_after(cluster, any_torch):
    old = [any_torch, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "all_reduce"]
    cluster.env["PYTHONPATH"] = str(SCRIPTS)
    cluster.env["MS_SCHED_HOST"] = "none"  # that the script shows
    before = run(cluster, "before", old)
    del cluster.env["MS_SCHED_HOST"]
    after = run(cluster, "after", ["sh", "-c", converted(cluster, *old)])
    assert before.count("sum=3") == after.count("sum=3") == 2


def test_it_says_what_it_does_not_know(cluster):
    done = subprocess.run([BIN / "ms-ctl", "convert", "--", "torchrun", "--warp", "9", "train.py"], env=cluster.env,
                          text=True, stderr=subprocess.PIPE)
    assert done.returncode == 2 and "--warp is no option of torchrun" in done.stderr
