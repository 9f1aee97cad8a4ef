"""ms-ctl convert: the old command and the new one do the same. Also the hint of ms-worker for a command that needs
converting."""

import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from muster import BIN, SCRIPTS, eventually, free_port

MINDSPORE = os.environ.get("MUSTER_MINDSPORE_PYTHON", "")
HOROVOD = os.environ.get("MUSTER_HOROVOD_PYTHON", "")  # see horovod/test_real_horovod.py

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


def test_torchrun_before_and_after(cluster, newest_torch):
    old = [newest_torch, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "all_reduce"]
    cluster.env["PYTHONPATH"] = str(SCRIPTS)
    cluster.env["MS_SCHED_HOST"] = "none"  # printed by the script
    before = run(cluster, "before", old)
    del cluster.env["MS_SCHED_HOST"]
    after = run(cluster, "after", ["sh", "-c", converted(cluster, *old)])
    assert before.count("sum=3") == after.count("sum=3") == 2


@pytest.mark.skipif(not MINDSPORE, reason="msrun is MindSpore's: MUSTER_MINDSPORE_PYTHON is empty")
def test_msrun_before_and_after(cluster):
    script = cluster.folder / "ranks.py"
    script.write_text(
        "import os\n"
        "open(os.path.join(os.environ['SAID'], 'rank' + os.environ['RANK_ID']), 'w').write(os.environ['RANK_SIZE'])\n")
    cluster.env["PATH"] = "%s:%s" % (pathlib.Path(MINDSPORE).parent, cluster.env["PATH"])
    # (msrun ends with 1 if a script never asks MindSpore's scheduler for a rank; only the variables for scripts count
    # here.)
    old = ["msrun", "--worker_num=2", "--local_worker_num=2", "--master_port=%d" % free_port(), "--log_dir=logs",
           "--join=True", str(script)]
    for name in ("before", "after"):
        cluster.env["SAID"] = str(cluster.folder / name)
        (cluster.folder / name).mkdir()
        argv = old if name == "before" else ["sh", "-c", converted(cluster, *old)]
        program = cluster.start(name, argv)
        eventually(lambda: len(list((cluster.folder / name).iterdir())) == 2, 60, "both ranks have said it")
        if name == "after":
            program.expect(0, timeout=60)
        else:
            program.send(signal.SIGTERM)
            program.wait(30)
        said = {path.name: path.read_text() for path in (cluster.folder / name).iterdir()}
        assert said == {"rank0": "2", "rank1": "2"}


@pytest.mark.skipif(not HOROVOD, reason="MUSTER_HOROVOD_PYTHON names no Python with Horovod")
def test_horovodrun_before_and_after(cluster):
    cluster.env["PATH"] = "%s:%s" % (pathlib.Path(HOROVOD).parent, cluster.env["PATH"])
    cluster.env["HOME"] = str(cluster.folder)  # the folder of its record of checked files
    old = ["horovodrun", "--gloo", "-np", "2", "-H", "localhost:2", HOROVOD, str(SCRIPTS / "train_horovod.py")]
    before = run(cluster, "before", old)
    after = run(cluster, "after", ["sh", "-c", converted(cluster, *old)])
    for said in (before, after):
        assert sorted(re.findall(r"rank (\d of \d), local (\d of \d).*: trained", said)) == [
            ("0 of 2", "0 of 2"), ("1 of 2", "1 of 2")]


def test_it_says_what_it_does_not_know(cluster):
    done = subprocess.run([BIN / "ms-ctl", "convert", "--", "torchrun", "--warp", "9", "train.py"], env=cluster.env,
                          text=True, stderr=subprocess.PIPE)
    assert done.returncode == 2 and "--warp is no option of torchrun" in done.stderr


def test_hosts_of_a_file_and_a_line_in_quotes(cluster):
    (cluster.folder / "hosts").write_text("node1 slots=8\nnode2 slots=8\n")
    hosts = str(cluster.folder / "hosts")
    both = "ms-worker --with_scheduler --sched_host node1 --worker_num 16 --local_worker_num 8 -- python train.py"
    assert converted(cluster, "mpirun", "-np", "16", "--hostfile", hosts, "python", "train.py") == both
    script = cluster.folder / "ranks.py"
    script.write_text(RANKS.format("RANK", "WORLD_SIZE"))
    line = converted(cluster, "N=2; torchrun -r 1 -t 1 --log_dir logs --nproc_per_node $N '%s' 2>&1 | cat" % script)
    said = run(cluster, "after", ["bash", "-c", "set -o pipefail; " + line])
    assert sorted(re.findall(r"I am (\d of \d)", said)) == ["0 of 2", "1 of 2"]


def test_launchers_are_seen_through_runners_and_in_scripts(cluster):
    tools = cluster.folder / "tools"
    tools.mkdir()
    (tools / "uv").write_text('#!/bin/sh\nshift\nexec "$@"\n')
    (tools / "torchrun").write_text("#!/bin/sh\nexit 0\n")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    cluster.env["PATH"] = "%s:%s" % (tools, cluster.env["PATH"])
    (cluster.folder / "launch.sh").write_text("#!/bin/bash\n# torchrun\ntorchrun train.py\n")
    words = [BIN / "ms-worker", "--standalone", "--local_worker_num", "2", "--"]
    program = cluster.start("runner", words + ["uv", "run", "torchrun", "train.py"])
    program.expect(2, timeout=20)
    assert "the command is torchrun, and would be started 2 times here" in program.output()
    said = run(cluster, "script", words + ["bash", "launch.sh"])
    assert "the command is torchrun (line 3 of launch.sh), and would be started 2 times here" in said


def test_a_script_on_standard_input_is_warned_of(cluster):
    line = "ms-worker --standalone --local_worker_num %d -- python3 - <<END\nprint('ran')\nEND"
    assert "reads its script from standard input, and that is empty" in run(cluster, "two", ["sh", "-c", line % 2])
    said = run(cluster, "one", ["sh", "-c", line % 1])
    assert "ran" in said and "standard input" not in said
