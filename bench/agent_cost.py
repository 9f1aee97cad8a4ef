"""Measures what one agent with its guardian, keeper and shim costs, compared with the process that they watch."""

import os
import re
import shutil
import subprocess
import time

from measuring import BIN, Failed, pss_mb

import processes  # of tests/e2e/support, which agents.py has put on the path

_STARTS = 7


def _copies(program, folder):
    """Copies a program and its shared libraries, except libc, which every process maps. Otherwise other Muster programs
    on this machine would share pages with the agent, and its share would look smaller than on a node of its own."""
    folder.mkdir()
    listing = subprocess.run(["ldd", str(program)], check=True, stdout=subprocess.PIPE, text=True).stdout
    for path in re.findall(r"=> (/\S+)", listing):
        if not path.endswith(("/libc.so.6", "/libm.so.6")):
            shutil.copy(path, folder)
    return shutil.copy(program, folder)


def _run_ns(pid):
    """The processor time of all threads of a process in nanoseconds, which is finer than the ticks of
    /proc/PID/stat."""
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task)) as file:
            total += int(file.read().split()[0])
    return total


def _start_until_registered(bench, number):
    """The time from the fork of ms-worker to its log line that it has joined, in ms."""
    begin = time.time()
    agent = bench.cluster.start_agent("start%d" % number, ["--job_id", "start%d" % number, "--worker_num", 1])
    match = agent.expect_said(r"^(\S+) INFO ms-worker: joined ", timeout=20)
    agent.wait(20)
    return 1000 * (bench.said_at(match.group(0)) - begin)


def measure(bench, window):
    folder = bench.folder / "copies"
    program = _copies(BIN / "ms-worker", folder)
    bench.start_scheduler("--heartbeat_interval", 2)
    agent = bench.cluster.start("agent", [program, *bench.cluster.agent_words(), "--worker_num", 1, "--", bench.worker],
                                env={"LD_LIBRARY_PATH": folder})
    bench.notes.wait_for(1, 60)
    keepers = [process.pid for process in processes.descendants(agent.pid)
               if process.name in ("ms-guardian", "ms-keeper", "ms-shim")]
    if len(keepers) != 3:
        raise Failed("the agent has %d of guardian, keeper and shim" % len(keepers))
    time.sleep(5)
    before = {pid: _run_ns(pid) for pid in (agent.pid, *keepers)}
    time.sleep(window)
    used = sum(_run_ns(pid) - ns for pid, ns in before.items()) / 1e9
    result = {"agent_pss_mb": round(pss_mb(agent.pid), 2), "keeper_pss_mb": round(sum(map(pss_mb, keepers)), 2),
              "cpu_percent": round(100 * used / window, 4), "window_seconds": window}
    result["pss_mb"] = round(result["agent_pss_mb"] + result["keeper_pss_mb"], 2)
    starts = sorted(_start_until_registered(bench, number) for number in range(_STARTS))
    return dict(result, start_ms=round(starts[_STARTS // 2], 1), start_max_ms=round(starts[-1], 1))
