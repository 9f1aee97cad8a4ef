"""Each failure is reported with its cause, as text and as a reason for programs, and with advice that helps: on the
terminal, in failure.json and by ms-ctl why. The advice names recovery only where it would have helped."""

import json
import os
import re
import signal
import sys

import pytest

import control_group
from muster import BIN, eventually, kill_now

RECOVERY = "MS_ENABLE_RECOVERY=1"
GREEDY = "x = bytearray(1 << 30)\n"  # with zeroes written to it, so the memory is touched below
TOUCH = "for at in range(0, len(x), 4096): x[at] = 1\n"
SILL = ("import ctypes, mmap\n"
        "page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
        "page.write(b'\\x0f\\x0b')\n"  # ud2
        "ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()\n")
PORT = ("import socket\n"
        "first, second = socket.socket(), socket.socket()\n"
        "first.bind(('127.0.0.1', 0))\n"
        "second.bind(first.getsockname())\n")


def start(cluster, *command, words=(), **options):
    return cluster.start("alone", [BIN / "ms-worker", "--standalone", "--log_dir", cluster.folder / "logs", *words, "--",
                                   *command], **options)


def python(cluster, script, **options):
    path = cluster.folder / "train.py"
    path.write_text(script)
    return start(cluster, sys.executable, path, **options)


def failure(cluster):
    return json.loads((cluster.folder / "logs" / "failure.json").read_text())


def expect_cause(cluster, agent, code, reason, text, remedy, names_recovery=False):
    """Checks that all places say the same; returns the content of failure.json."""
    agent.expect(code, timeout=60)
    return expect_reason(cluster, agent, reason, text, remedy, names_recovery)


def expect_reason(cluster, agent, reason, text, remedy, names_recovery=False):
    cause = failure(cluster)
    assert cause["reason"] == reason, cause
    assert re.search(text, cause["cause"]), cause
    assert re.search(remedy, cause["remedy"]), cause
    assert (RECOVERY in cause["remedy"]) == names_recovery, cause
    last = agent.our_lines()[-1]
    assert cause["cause"] in last and cause["remedy"] in last, agent.output()
    return cause


def test_a_missing_script(cluster):
    agent = start(cluster, sys.executable, "no_such_train.py")
    expect_cause(cluster, agent, 2, "missing_file", r"exit code 2: .*can't open file '.*no_such_train.py'",
                "spelling, the working directory")


def test_an_exception_without_record(cluster):
    agent = python(cluster, "args = {}\nargs['lr']\n")
    cause = expect_cause(cluster, agent, 1, "python_exception", r"exit code 1: KeyError: 'lr'$", "traceback")
    assert cause["last_lines"][0] == "Traceback (most recent call last):"


def test_a_missing_module(cluster):
    agent = python(cluster, "import no_such_module\n")
    expect_cause(cluster, agent, 1, "missing_module", r"ModuleNotFoundError: No module named 'no_such_module'$",
                "PYTHONPATH")


def test_a_port_in_use(cluster):
    expect_cause(cluster, python(cluster, PORT), 1, "port_in_use", r"OSError: \[Errno 98\] Address already in use$",
                "ss -ltnp")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the instruction is one of x86")
def test_an_illegal_instruction(cluster):
    expect_cause(cluster, python(cluster, SILL), 128 + signal.SIGILL, "illegal_instruction", r"killed by SIGILL",
                "needs instructions")


def test_a_full_disk(cluster):
    disk = cluster.folder / "disk"
    disk.mkdir()
    script = cluster.folder / "train.py"
    script.write_text("open('disk/checkpoint', 'wb').write(bytes(1 << 20))\n")
    agent = start(cluster, "unshare", "--mount", "sh", "-c",
                  'mount -t tmpfs -o size=64k muster disk && exec "$@"', "sh", sys.executable, script)
    expect_cause(cluster, agent, 1, "disk_full", r"OSError: \[Errno 28\] No space left on device$", "df -h")


def test_a_process_is_killed_from_outside(cluster):
    agent = start(cluster, "sh", "-c", "echo $$ > pid.new; mv pid.new pid; sleep 600")
    pid = eventually(lambda: (cluster.folder / "pid").exists() and int((cluster.folder / "pid").read_text()), 20,
                     "it runs")
    kill_now(pid)
    expect_cause(cluster, agent, 128 + signal.SIGKILL, "killed_from_outside", r"killed by SIGKILL$",
                "an administrator, a batch system", names_recovery=True)


@pytest.fixture
def memory():
    group = control_group.make_or_skip(control_group.MemoryGroup, 256 << 20)
    yield group
    group.close()


def test_out_of_memory(cluster, memory):
    agent = python(cluster, GREEDY + TOUCH, limits=memory.enter)
    cause = expect_cause(cluster, agent, 128 + signal.SIGKILL, "out_of_memory",
                       r"killed by SIGKILL: out of memory: .*limit is 256 MiB", "more memory")
    assert re.search(r"its peak was 25\d(\.\d+)? MiB", cause["cause"]) or memory.is_v2, cause
    # A later kill by hand is not taken for the cause.
    cluster.expect_nothing_left()
    again = cluster.start("again", [BIN / "ms-worker", "--standalone", "--log_dir", cluster.folder / "logs", "--", "sh",
                                    "-c", "echo $$ > pid.new; mv pid.new pid; sleep 600"], limits=memory.enter)
    kill_now(eventually(lambda: (cluster.folder / "pid").exists() and int((cluster.folder / "pid").read_text()), 20,
                        "it runs"))
    expect_cause(cluster, again, 128 + signal.SIGKILL, "killed_from_outside", "SIGKILL$", "administrator", True)
    cluster.expect_nothing_left()


def test_a_process_that_it_had_started_is_out_of_memory(cluster, memory):
    script = ("import subprocess, sys\n"
              "subprocess.run([sys.executable, '-c', %r], check=True)\n" % (GREEDY + TOUCH))
    agent = python(cluster, script, limits=memory.enter)
    expect_cause(cluster, agent, 1, "out_of_memory",
                r"CalledProcessError: .*; out of memory: the kernel killed one of its processes, .*256 MiB", "more memory")
    cluster.expect_nothing_left()


def test_the_process_that_ended_first_is_reported_not_its_peers(cluster, any_torch):
    script = cluster.folder / "train.py"
    script.write_text("import os, torch, torch.distributed as dist\n"
                      "dist.init_process_group('gloo')\n"
                      "dist.all_reduce(torch.ones(1))\n"
                      "if dist.get_rank() == 1: {}['lr']\n"
                      "dist.all_reduce(torch.ones(1))\n")
    agent = start(cluster, any_torch, script, words=["--local_worker_num", 2])
    # Torch may abort because of one of its threads while Python exits with the exception.
    assert agent.wait(60) in (1, 128 + signal.SIGABRT), agent.output()
    expect_reason(cluster, agent, "python_exception", r"^rank 1 .*KeyError: 'lr'$", "traceback")


def test_the_rank_that_a_collective_waits_for_is_named(cluster, any_torch):
    script = cluster.folder / "train.py"
    script.write_text("import datetime, os, time, torch, torch.distributed as dist\n"
                      "dist.init_process_group('gloo', timeout=datetime.timedelta(seconds=6))\n"
                      "for step in range(2):\n"
                      "    with open(os.environ['MS_PROGRESS_FILE'], 'w') as file: file.write(str(step))\n"
                      "    dist.all_reduce(torch.ones(1))\n"
                      "    if dist.get_rank() == 1: time.sleep(600)\n")
    agent = start(cluster, any_torch, script, words=["--local_worker_num", 2])
    expect_cause(cluster, agent, 1, "collective_timeout", r"^rank 0 .*Timed out waiting 6000ms for recv operation",
                "look first at rank 1 on .*, which was at step 0 when others were at step 1; ", names_recovery=True)


def test_why_shows_the_reason(cluster):
    cluster.start_scheduler()
    agent = cluster.start_agent("alone", ["--worker_num", 1], [sys.executable, "-c", "{}['lr']"])
    agent.expect(1)
    cause = cluster.ctl_json("why")["runs"][0]["outcome"]["cause"]
    assert cause["reason"] == "python_exception"
    assert re.search(r"cause .*KeyError: 'lr'\n(.*\n)*  what to do  fix what the exception names", cluster.ctl("why"))


def test_a_standalone_run_says_each_text_once(cluster):
    script = cluster.folder / "train.py"
    script.write_text("args = {}\nargs['lr']\n")
    agent = cluster.start("alone", [BIN / "ms-worker", "--standalone", "--", sys.executable, script])
    agent.expect(1)
    output = agent.output()
    assert output.count("Traceback") == 1, output
    assert output.count("KeyError: 'lr'") == 2, output  # Python's own traceback, and the cause
    assert len([line for line in agent.our_lines() if "failed" in line]) == 1, output
    assert "failed: rank 0" in agent.our_lines()[-1], output
