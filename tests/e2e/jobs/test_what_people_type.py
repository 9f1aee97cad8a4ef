"""Arguments that people know from other launchers, and commands with mistakes: what works, and the messages."""

import json
import os
import re
import subprocess
import sys
import time

import pytest

from muster import BIN, EXIT_FAILED_ELSEWHERE, EXIT_STOPPED, ROOT, WITH_TLS, eventually

EXIT_USAGE = 2

SAY_RANK = ("import os, sys\n"
            "sys.stdout.write('rank %s of %s %s\\n' % (os.environ['RANK'], os.environ['WORLD_SIZE'], sys.argv[1:]))\n")


def run(cluster, *words, code=0, env=None, cwd=None):
    """Runs ms-worker with just these arguments; returns its output with that of its processes."""
    agent = cluster.start("agent%d" % len(cluster.programs), [BIN / "ms-worker", *map(str, words)], env=env, cwd=cwd)
    agent.expect(code)
    return agent.output()


def said_by_us(text):
    return [line for line in text.splitlines() if "ms-worker" in line]


@pytest.fixture
def script(cluster):
    path = cluster.folder / "train.py"
    path.write_text(SAY_RANK)
    return path


def test_a_python_file_and_a_module_are_typed_plainly(cluster, script):
    out = run(cluster, "--standalone", "--local_worker_num", 2, "train.py", "--lr", 1)
    for rank in range(2):
        assert "rank %d of 2 ['--lr', '1']" % rank in out, out
    assert len(re.findall(r"train\.py runs under \S+/python3$", out, re.MULTILINE)) == 1, out
    (cluster.folder / "pkg").mkdir()
    (cluster.folder / "pkg" / "train.py").write_text(SAY_RANK)
    for words in (["-m", "pkg.train", "-n", "3"], ["--", "-m", "pkg.train", "-n", "3"]):
        out = run(cluster, "--standalone", *words)
        assert "rank 0 of 1 ['-n', '3']" in out, out
        assert re.search(r"-m pkg\.train runs under \S+/python3$", out, re.MULTILINE), out


def test_the_python_that_runs_muster_runs_the_script(cluster):
    """Runs venv/bin/python -m muster run, without the venv in PATH."""
    own = cluster.folder / "venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.symlink_to(sys.executable)
    path = cluster.folder / "own.py"
    path.write_text("#!/bin/false\nimport sys\nprint('under', sys.executable)\n")
    path.chmod(0o755)
    for words in (["own.py"], ["./own.py"], ["-m", "own"], ["--python", sys.executable, "own.py"]):
        agent = cluster.start("agent%d" % len(cluster.programs), [own, "-m", "muster", "run", "--standalone", *words],
                              env={"PYTHONPATH": "%s:%s" % (ROOT / "python", cluster.folder)})
        agent.expect(0)
        wanted = sys.executable if "--python" in words else own
        assert "under %s\n" % wanted in agent.output(), agent.output()


def test_a_job_that_is_called_as_a_link_of_the_log_folder(cluster):
    for name in ("worker_0.log", "failure.json"):
        out = run(cluster, "--standalone", "--job_id", name, "--log_dir", "logs", "true", code=EXIT_USAGE)
        assert "job_id (MS_JOB_ID) is %s, which is the name of a file or link of Muster's in --log_dir" % name in out, out
        run(cluster, "--standalone", "--job_id", name, "true")


def test_a_python_file_that_names_its_interpreter_runs_as_it_stands(cluster):
    path = cluster.folder / "own.py"
    path.write_text("#!/bin/sh\necho as a shell script\n")
    path.chmod(0o755)
    out = run(cluster, "--standalone", "./own.py")
    assert "as a shell script" in out and "runs under" not in out, out


def test_a_mistake_in_a_command_is_reported_exactly(cluster, script):
    plain = cluster.folder / "plain.sh"
    plain.write_text("echo\n")
    wrong = cluster.folder / "wrong.sh"
    wrong.write_text("#!/usr/bin/pyhton3\n")
    wrong.chmod(0o755)
    (cluster.folder / "tools").mkdir()
    cases = [("train.sh", 127, "train.sh: not found in PATH"),
             ("plain.sh", 127, "plain.sh: not found in PATH; for the file in this folder write ./plain.sh"),
             ("./none.sh", 127, "./none.sh: there is no such file"),
             ("none.py", 127, "none.py: there is no such file"),
             ("./plain.sh", 126, "./plain.sh is not executable: chmod +x ./plain.sh, or write its interpreter before it"),
             ("./tools", 126, "./tools is a folder: write the program that is to run"),
             ("./wrong.sh", 127, "./wrong.sh: its interpreter /usr/bin/pyhton3 (first line) isn't there")]
    for command, code, words in cases:
        out = run(cluster, "--standalone", command, code=code)
        assert out.rstrip().endswith(words), out
        assert len(out.splitlines()) == 1, out


def test_what_can_t_be_known_before_ends_with_the_same_codes(cluster):
    locked = cluster.folder / "tool-0"
    locked.write_text("#!/bin/sh\n")
    locked.chmod(0o644)
    assert "not found in PATH" in run(cluster, "--standalone", "--", "no-such-tool-{rank}", code=127)
    run(cluster, "--standalone", "--", "./tool-{rank}", code=126)


def test_words_of_other_launchers_name_ours(cluster, script):
    cases = [(["-n", 4], "-n: write --worker_num 4 for the processes of the whole job, over all nodes"),
             (["-np", 4], "-np: write --worker_num 4 for"), (["--np", 4], "--np: write --worker_num 4 for"),
             (["--rank", 0], "--rank: the scheduler gives each process its rank"),
             (["--nnodes", 2], "counted in workers, not in nodes"),
             (["--hostfile", "hosts"], "start ms-worker on each machine")]
    for words, hint in cases:
        out = run(cluster, *words, "train.py", code=EXIT_USAGE)
        assert hint in out and len(out.splitlines()) == 1, out
    out = run(cluster, "--nproc-per-node", 2, "--node-rank", 0, "--standalone", "train.py")
    assert "rank 1 of 2" in out, out


def test_the_schedulers_port_stands_behind_its_host(cluster, script):
    scheduler = cluster.start_scheduler()
    at = "127.0.0.1:%s" % scheduler.port
    assert "rank 0 of 1" in run(cluster, "--sched_host", at, "--worker_num", 1, "train.py")
    assert "rank 0 of 1" in run(cluster, "--worker_num", 1, "train.py", env={"MS_SCHED_HOST": at})
    out = run(cluster, "--sched_host", at, "--sched_port", 2000, "--worker_num", 1, "train.py", code=EXIT_USAGE)
    assert "names port %s, but sched_port (from --sched_port) is 2000; give the port once" % scheduler.port in out
    shown = subprocess.run([BIN / "ms-ctl", "status", "--sched_host", at], env=cluster.env, text=True,
                           capture_output=True, check=True).stdout
    assert "job default" in shown, shown


@pytest.mark.skipif(WITH_TLS, reason="the certificate names 127.0.0.1")
def test_an_ipv6_address_with_a_port(cluster, script):
    if not os.path.exists("/proc/net/if_inet6") or "00000000000000000000000000000001" not in open(
            "/proc/net/if_inet6").read():
        pytest.skip("no ::1 here")
    scheduler = cluster.start_scheduler(host="::1")
    out = run(cluster, "--sched_host", "[::1]:%s" % scheduler.port, "--worker_num", 1, "train.py")
    assert "rank 0 of 1" in out, out


def test_placeholders_work_in_env(cluster):
    out = run(cluster, "--standalone", "--local_worker_num", 2, "--env", "CACHE=/tmp/{job_id}-{rank}", "--", "sh", "-c",
              "echo cache=$CACHE")
    assert "cache=/tmp/default-0" in out and "cache=/tmp/default-1" in out, out


def test_ms_ctl_takes_the_job_as_a_word_and_reads_the_shared_config(cluster):
    scheduler = cluster.start_scheduler()
    config = cluster.folder / "muster.conf"
    config.write_text("sched_host = 127.0.0.1:%s\nworker_num = 1\nlocal_worker_num = 1\nnode_timeout = 60\n"
                      % scheduler.port)
    agents = {job: cluster.start(job, [BIN / "ms-worker", "--config", config, "--job_id", job, "--", "sleep", "1000"])
              for job in ("one", "two")}
    for job in agents:
        cluster.wait_until_running(1, job)
    for command in ("status", "nodes", "ranks", "events", "why"):
        done = subprocess.run([BIN / "ms-ctl", "--config", config, command, "one"], env=cluster.env, text=True,
                              capture_output=True)
        assert done.returncode == 0 and done.stderr == "", done
        assert "two" not in done.stdout, done.stdout
    assert "one, run 1" in cluster.ctl("stop", "one")
    agents["one"].expect(EXIT_STOPPED)
    assert agents["two"].is_running()
    node = cluster.ctl_json("nodes", "two")["jobs"][0]["nodes"][0]["node_id"]
    cluster.ctl("drain", "two", node)
    cluster.ctl("undrain", "two", node)
    assert "--worker_num is for ms-worker" in cluster.ctl("status", "--worker_num", 4, code=EXIT_USAGE)


def test_a_job_stopped_while_it_restarts_was_stopped(cluster):
    cluster.start_scheduler()
    agent = cluster.start_agent("agent", ["--worker_num", 1, "--stop_timeout", 2],
                                ["sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"])
    cluster.wait_until_running(1)
    cluster.ctl("restart", "default")
    cluster.ctl("stop", "default")
    agent.expect(EXIT_STOPPED)
    told = cluster.ctl("why", "default")
    assert re.search(r"^  cause +stopped by", told, re.MULTILINE), told
    assert re.search(r"^  restarted +by ", told, re.MULTILINE), told


def test_launchers_side_by_side_are_refused_with_the_command_to_write(cluster):
    tool = cluster.folder / "torchrun"
    tool.write_text("#!/bin/sh\necho \"started with $*\"\n")
    tool.chmod(0o755)
    out = run(cluster, "--standalone", "--local_worker_num", 2, "--", "./torchrun", "train.py", code=EXIT_USAGE)
    assert "would be started 2 times here" in out, out
    told = re.search(r"ms-worker (--per_node.*?) … -- torchrun (.*?) …", out)
    assert told, out
    out = run(cluster, "--standalone", *told.group(1).split(), "--", "./torchrun", *told.group(2).split())
    assert out.count("started with") == 1, out
    assert re.search(r"started with --nnodes 1 --nproc_per_node 2 --node_rank 0 --master_addr \S+ --master_port \d+", out)
    out = run(cluster, "--standalone", "--", "./torchrun", "train.py")
    assert "started once for each process of the job" in out and "started with train.py" in out, out


def test_launchers_on_one_machine_get_node_ranks_of_their_own_or_are_refused(cluster):
    cluster.start_scheduler()
    words = ["--worker_num", 4, "--local_worker_num", 2, "--per_node"]
    command = ["sh", "-c", "echo node {node_rank} of {nnodes}, {nproc_per_node} here"]
    agents = cluster.start_agents(2, words, command)
    codes = {agent.wait(30) for agent in agents}
    assert 126 in codes and codes <= {126, EXIT_FAILED_ELSEWHERE}, cluster.describe()
    assert any("give each one here a --machine NAME of its own" in agent.output() for agent in agents)
    agents = [cluster.start_agent("apart%d" % i, [*words, "--machine", "m%d" % i], command) for i in range(2)]
    for agent in agents:
        agent.expect(0)
    said = sorted(re.search(r"node (\d) of 2, 2 here", agent.output()).group(1) for agent in agents)
    assert said == ["0", "1"], cluster.describe()


# Debian's 1.13 crashes by itself under Python 3.11, where its flags have no member that is zero.
TORCHRUN = """#!%s
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda cls, text: Std(int(text)))
from torch.distributed.run import main
main()
"""


def test_torchrun_under_per_node(cluster, any_torch):
    torchrun = cluster.folder / "torchrun"
    torchrun.write_text(TORCHRUN % any_torch)
    torchrun.chmod(0o755)
    (cluster.folder / "ddp.py").write_text(
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "total = torch.ones(1)\n"
        "dist.all_reduce(total)\n"
        "open('sum%d' % dist.get_rank(), 'w').write(str(int(total)))\n"
        "dist.destroy_process_group()\n")  # otherwise 2.13 sometimes aborts at its end
    cluster.start_scheduler()
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--per_node", "--machine",
                                                  "m%d" % i],
                                  [torchrun, "--nnodes", "{nnodes}", "--nproc_per_node", "{nproc_per_node}",
                                   "--node_rank", "{node_rank}", "--master_addr", "{master_addr}", "--master_port",
                                   "{master_port}", "ddp.py"]) for i in range(2)]
    for agent in agents:
        agent.expect(0, timeout=120)
    assert [(cluster.folder / ("sum%d" % rank)).read_text() for rank in range(4)] == ["4"] * 4


def test_a_rank_table_gives_the_size(cluster):
    devices = [{"device_id": str(i), "device_ip": "192.168.1.%d" % i, "rank_id": str(i)} for i in range(3)]
    table = cluster.folder / "table.json"
    table.write_text(json.dumps({"version": "1.0", "status": "completed", "server_count": "1",
                                 "server_list": [{"server_id": "127.0.0.1", "device": devices}]}))
    out = run(cluster, "--standalone", "--worker_ip", "127.0.0.1", "--", "sh", "-c", "echo rank $RANK of $WORLD_SIZE",
              env={"RANK_TABLE_FILE": table})
    assert sorted(re.findall(r"rank (\d) of 3$", out, re.MULTILINE)) == ["0", "1", "2"], out


def test_surroundings_are_noticed_where_no_size_is_set(cluster):
    cluster.start_scheduler("--worker_num", 1)
    slurm = {"SLURM_STEP_NUM_TASKS": 4, "SLURM_STEP_NUM_NODES": 2, "SLURM_NODEID": 0}
    at = cluster.agent_words()
    out = run(cluster, *at, "--", "true", env=slurm)
    assert ("this looks like a Slurm step of 4 tasks on 2 nodes, and no number of workers is set: write --worker_num 4"
            in out), out
    assert "Slurm" not in run(cluster, *at, "--worker_num", 1, "--", "true", env=slurm)


@pytest.mark.skipif(WITH_TLS, reason="it is about an agent without TLS")
def test_a_plain_agent_says_that_the_scheduler_most_likely_wants_tls(secured, cluster):
    secured.start_scheduler()
    begun = time.monotonic()
    plain = cluster.start_agent("plain", ["--worker_num", 1], ["true"])
    plain.expect_said("Most likely the scheduler requires TLS: set --tls_config", timeout=20)
    assert time.monotonic() - begun < 20
    eventually(lambda: len(said_by_us(plain.output())) >= 2, 5, "both lines")
    assert len(said_by_us(plain.output())) <= 3, plain.output()
