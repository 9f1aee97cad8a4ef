"""Measurements with the real programs: ms-scheduler and N real ms-worker agents on this machine.

    agents.py --measure form|cold|stop|restart|reconnect|agent_cost|idle [--agents 8] [--window 30] [--tls_config FILE]

form        from the instant at which the scheduler accepts connections until the last agent holds its assignment.
            All agents have started before and wait to connect, because the scheduler is stopped until then. The
            peers' agents wait in the same way, but start no processes then: theirs are the lightest there are
cold        the same from the start of the first agent's process: the start of all processes counts
stop        kill -9 of a training process without recovery -> the last line of the last agent
restart     the same with recovery -> all old processes gone, all new ones begun
reconnect   kill -9 of the scheduler and its restart -> all agents back
agent_cost  one agent with its keeper beside one waiting process: memory, processor, start until registered
idle        the scheduler with nothing to do
"""

import argparse
import datetime
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from measuring import BIN, ROOT, Failed, become_main, cpu_seconds, free_ports, memory_mb, pss_mb, wait_until
from restarts import Notes, kill_one

sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))
os.environ.setdefault("MUSTER_BIN", str(BIN))

import agent_cost  # noqa: E402
import muster  # noqa: E402

WORKER = pathlib.Path(__file__).resolve().parent / "worker.sh"
LIGHTEST = ("/bin/sleep", "100000")
_TIMEOUT = 120


def said_at(line):
    """The wall clock time of a line in a program's log."""
    return datetime.datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")).timestamp()


class Bench:
    """A scheduler and agents. Use as a context."""

    def __init__(self, options, journal="file"):
        self.options = options
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-bench-", dir="/var/tmp"))
        self.cluster = muster.Cluster(self.folder)
        self.notes = Notes(self.folder / "notes")
        self.cluster.env["BENCH_NOTES"] = self.notes.path
        self.cluster.env["TZ"] = "UTC"
        if options.tls_config:
            self.cluster.env["MS_TLS_CONFIG"] = options.tls_config
        self.port, = free_ports(1)
        self.journal = self.folder / "journal.db" if journal == "file" else journal

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    said_at, worker = staticmethod(said_at), WORKER

    def start_scheduler(self, *words, name="scheduler", **options):
        return self.cluster.start_scheduler("--worker_num", self.options.agents, "--journal_path", self.journal, *words,
                                            name=name, port=self.port, **options)

    def start_agents(self, *words, command=(WORKER,)):
        words = ["--worker_num", self.options.agents, "--local_worker_num", 1, *words]
        return self.cluster.start_agents(self.options.agents, words, command)


def connections_to(port):
    """Established connections of this machine towards 127.0.0.1:port."""
    rows = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):  # gRPC's sockets are in either table
        with open(table) as file:
            rows += [line.split() for line in file]
    return sum(row[2].endswith("0100007F:%04X" % port) and row[3] == "01" for row in rows)


def measure_form(options, is_cold=False):
    with Bench(options) as bench:
        scheduler = bench.start_scheduler()
        cpu, begin = cpu_seconds(scheduler.pid), time.time()
        if not is_cold:
            scheduler.send(signal.SIGSTOP)
        agents = bench.start_agents(command=LIGHTEST)
        if not is_cold:
            wait_until(lambda: connections_to(bench.port) >= options.agents, _TIMEOUT, "all agents wait at the door")
            time.sleep(1)  # the work left over from the start is done
            begin = time.time()
            scheduler.send(signal.SIGCONT)
        ends = [agent.expect_said(r"^(\S+ INFO ms-worker: round 1: rank .*)$", timeout=_TIMEOUT) for agent in agents]
        return {"seconds": max(said_at(match.group(1)) for match in ends) - begin,
                "server_cpu_seconds": cpu_seconds(scheduler.pid) - cpu, "server_rss_mb": memory_mb(scheduler.pid)}


def measure_cold(options):
    return measure_form(options, is_cold=True)


def measure_stop(options):
    with Bench(options) as bench:
        bench.start_scheduler()
        agents = bench.start_agents()
        pids = [pid for _, pid in bench.notes.wait_for(options.agents, _TIMEOUT)]
        time.sleep(1)
        killed = time.time()
        os.kill(pids[0], signal.SIGKILL)
        for agent in agents:
            agent.wait(_TIMEOUT)
        ended = time.time() - killed
        last = max(said_at(agent.our_lines()[-1]) for agent in agents) - killed
        return {"seconds": last, "stopped_seconds": last, "ended_seconds": ended}


def measure_restart(options):
    with Bench(options) as bench:
        bench.start_scheduler("--enable_recovery", 1)
        bench.start_agents("--enable_recovery", 1)
        stopped, restarted, _ = kill_one(bench.notes, options.agents, _TIMEOUT)
        return {"seconds": restarted, "stopped_seconds": stopped, "restarted_seconds": restarted}


def measure_reconnect(options):
    with Bench(options) as bench:
        scheduler = bench.start_scheduler("--enable_recovery", 1)
        agents = bench.start_agents("--enable_recovery", 1)
        bench.notes.wait_for(options.agents, _TIMEOUT)
        time.sleep(1)
        killed = time.time()
        scheduler.send(signal.SIGKILL)
        scheduler.popen.wait()
        bench.start_scheduler("--enable_recovery", 1, name="scheduler2")
        listening = time.time()

        def all_back():
            jobs = bench.cluster.ctl_json("nodes")["jobs"]
            return sum(node["state"] == "connected" for job in jobs for node in job["nodes"]) >= options.agents

        wait_until(all_back, _TIMEOUT, "all agents are back", pause=0.05)
        back = time.time()
        begun = len(bench.notes.read()) - options.agents
        return {"seconds": back - listening, "down_seconds": listening - killed, "failed": begun,
                "rank_changes": sum(len(re.findall(r"round \d+: rank", agent.output())) - 1 for agent in agents)}


def measure_idle(options):
    with Bench(options) as bench:
        scheduler = bench.start_scheduler()
        time.sleep(1)
        cpu = cpu_seconds(scheduler.pid)
        time.sleep(options.window)
        return {"server_rss_mb": memory_mb(scheduler.pid, "VmRSS"), "server_pss_mb": round(pss_mb(scheduler.pid), 2),
                "server_cpu_seconds": cpu_seconds(scheduler.pid) - cpu, "window_seconds": options.window}


def measure_agent_cost(options):
    options.agents = 1
    with Bench(options) as bench:
        return agent_cost.measure(bench, options.window)


MEASURES = {"form": measure_form, "cold": measure_cold, "stop": measure_stop, "restart": measure_restart,
            "reconnect": measure_reconnect, "agent_cost": measure_agent_cost, "idle": measure_idle}


def measure():
    parser = argparse.ArgumentParser()
    parser.add_argument("--measure", choices=sorted(MEASURES), required=True)
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--window", type=float, default=30)
    parser.add_argument("--tls_config", default="")
    options = parser.parse_args()
    muster.become_subreaper()
    try:
        result = MEASURES[options.measure](options)
    except (AssertionError, subprocess.SubprocessError) as error:  # so tests/e2e reports what did not come
        raise Failed(str(error)) from error
    return dict(result, measure=options.measure, subject="muster", agents=options.agents,
                security="mtls" if options.tls_config else "plain")


if __name__ == "__main__":
    become_main(measure)
