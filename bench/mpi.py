#!/usr/bin/env python3
"""Compares MPI programs started by ms-worker and by mpirun, in turn, on two machines (network namespaces, so as root).

    bench/mpi.py start [--ranks 2,8,32] [--runs 7]     ranks of each machine, more than one figure for several sizes
    bench/mpi.py latency [--runs 7]                    one rank on each machine
    --family openmpi|mpich

start: the time from the first program's start until MPI_Init is done in all ranks, and the processor time, over the
whole run, of all processes except the ranks. Muster's command runs on both machines. Its scheduler runs before the
start; its processor time counts from the start on. mpirun runs on one machine, with a script of two lines in place of ssh,
which costs nothing.

latency: half a round trip of 8 bytes between the two machines.

Processor time is what the kernel has charged to the children of this process (getrusage), which adopts all orphans,
minus what the ranks report for themselves. The runs are interleaved and medians are shown, since others may use the
machine at the same time. The last line of stdout is JSON.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from measuring import BIN, ROOT, Failed, wait_until

sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))
import muster  # noqa: E402
import netns  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
AGENT = """#!/bin/sh
[ "$1" = -x ] && shift
host=$1; shift; exec ip netns exec "$(cat %s/$host)" sh -c "$*"
"""
MPIRUN = {
    "openmpi": lambda agent, hosts, each: ["mpirun.openmpi", "--allow-run-as-root", "--bind-to", "none", "--mca",
                                           "plm_rsh_agent", agent,
                                           "-np", 2 * each, "-H", ",".join("%s:%d" % (host, each) for host in hosts)],
    "mpich": lambda agent, hosts, each: ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", agent, "-np", 2 * each,
                                         "-iface", "eth0", "-hosts", ",".join("%s:%d" % (h, each) for h in hosts)],
}


# The machines share one kernel: without these settings Open MPI would find ways past the simulated cable.
BY_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self"}


class Bench:
    def __init__(self, family, network, folder):
        self.family, self.folder = family, folder
        self.machines = network.pair()
        self.program = folder / "ranks"
        subprocess.run(["mpicc." + family, "-O2", "-o", self.program, HERE / "mpi_ranks.c"], check=True)
        self.agent = folder / "agent"
        self.agent.write_text(AGENT % folder)
        self.agent.chmod(0o755)
        for machine in self.machines:
            (folder / machine.address).write_text(machine.name)
        self.env = {name: value for name, value in os.environ.items()
                    if not name.startswith(("MS_", "OMPI_", "PMI", "HYDRA_", "UCX_"))}
        self.env.update(BY_TCP, TMPDIR=str(folder), XDG_RUNTIME_DIR=str(folder), XDG_STATE_HOME=str(folder))

    def _start(self, machine, words):
        words = ["ip", "netns", "exec", machine.name, *map(str, words)]
        return subprocess.Popen(words, env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL,
                                stdout=self.log, stderr=subprocess.STDOUT)

    def _scheduler(self, each):
        first = self.machines[0]
        words = [BIN / "ms-scheduler", "--sched_host", first.address, "--sched_port", 7000, "--worker_num", 2 * each,
                 "--once"]
        started = self._start(first, words)
        wait_until(lambda: b"listening on" in pathlib.Path(self.log.name).read_bytes(), 20, "the scheduler listens")
        with open("/proc/%d/schedstat" % started.pid) as file:
            self.used_before = int(file.read().split()[0]) / 1e9
        return started

    def _muster(self, each, words):
        first = self.machines[0]
        line = [BIN / "ms-worker", "--sched_host", first.address, "--sched_port", 7000, "--local_worker_num", each,
                "--", *words]
        return [self._start(machine, line) for machine in self.machines]

    def _mpirun(self, each, words):
        hosts = [machine.address for machine in self.machines]
        return [self._start(self.machines[0], MPIRUN[self.family](self.agent, hosts, each) + words)]

    def run(self, launcher, each, *words):
        """Returns the result of one run: (seconds to MPI_Init, processor seconds of others, latency in us)."""
        with tempfile.TemporaryDirectory(dir=self.folder) as told, open(self.folder / "log", "wb") as self.log:
            before, self.used_before = _children_seconds(), 0
            words = [self.program, told, *words]
            started = [self._scheduler(each)] if launcher == "muster" else []
            begin = time.monotonic()
            started += self._muster(each, words) if launcher == "muster" else self._mpirun(each, words)
            codes = [program.wait(timeout=120) for program in started]
            _reap_orphans()
            lines = [path.read_text().split() for path in pathlib.Path(told).iterdir()]
            if any(codes) or len(lines) != 2 * each:
                raise Failed("%s ended with %s, %d ranks reported: %s" % (
                    launcher, codes, len(lines), pathlib.Path(self.log.name).read_text(errors="replace")[-3000:]))
            others = _children_seconds() - before - self.used_before - sum(float(line[1]) for line in lines)
        return max(float(line[0]) for line in lines) - begin, others, max(float(line[2]) for line in lines)


def _children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap_orphans():
    """Waits until all processes of a run have ended; those that lose their parent become children of this process."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            return
    raise Failed("processes of the run are left")


def _medians(bench, runs, each, *words):
    told = {"muster": [], "mpirun": []}
    for number in range(runs):
        for launcher in list(told)[::1 if number % 2 else -1]:
            told[launcher].append(bench.run(launcher, each, *words))
    return {launcher: [statistics.median(column) for column in zip(*rows)] for launcher, rows in told.items()}


def measure_start(bench, runs, ranks):
    result = {}
    print("%14s %9s %9s %9s %9s" % ("ranks", "muster s", "mpirun s", "CPU s", "CPU s"))
    for each in ranks:
        medians = _medians(bench, runs, each)
        (wall, cpu, _), (other_wall, other_cpu, _) = medians["muster"], medians["mpirun"]
        print("%14s %9.3f %9.3f %9.3f %9.3f" % ("2 x %d" % each, wall, other_wall, cpu, other_cpu), flush=True)
        result["2x%d" % each] = {"seconds": [wall, other_wall], "cpu_seconds": [cpu, other_cpu]}
    return result


def measure_latency(bench, runs):
    medians = _medians(bench, runs, 1, "latency")
    ours, theirs = medians["muster"][2], medians["mpirun"][2]
    print("half a round trip: muster %.2f us, mpirun %.2f us, %+.1f %%" % (ours, theirs, 100 * (ours / theirs - 1)))
    return {"latency_us": [ours, theirs]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["start", "latency"])
    parser.add_argument("--family", choices=sorted(MPIRUN), default="openmpi")
    parser.add_argument("--ranks", default="2,8,32")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    muster.become_subreaper()
    network = netns.Network()
    try:
        with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
            bench = Bench(options.family, network, pathlib.Path(folder))
            if options.what == "start":
                result = measure_start(bench, options.runs, [int(each) for each in options.ranks.split(",")])
            else:
                result = measure_latency(bench, options.runs)
    finally:
        network.close()
    print(json.dumps({options.what: result, "family": options.family}))


if __name__ == "__main__":
    try:
        main()
    except Failed as failed:
        sys.exit(str(failed))
