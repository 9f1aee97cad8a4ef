#!/usr/bin/env python3
"""Compares JAX's coordination service: jaxlib's own in a process of its own, and Muster's, in turn.

    bench/jax_service.py --python PYTHON [--agents 125] [--slots 8] [--runs 3]

Measures from the first registration until the last of agents × slots processes has the topology of all. The server's
processor time is that of jaxlib's process, or of ms-scheduler with its journal on disk. All of it runs on this machine.

  jaxlib        PYTHON's, from 0.10 on. peer_load acts as the JAX processes, each with a connection of its own.
  muster        muster_load acts as the agents, with their own code, and as their JAX processes, without connections.
                So work that real agents do on machines of their own takes little processor time from the scheduler.
  real_agents   Real ms-worker processes, all on this machine, with training processes that only wait. peer_load acts as
                the JAX processes, each with a connection to its agent. The agents' processor time is
                reported separately.
  one_agent     The same with only one agent: shows what it costs to go through an agent.

The last line is JSON, medians.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import types

from agents import Bench
from measuring import BIN, Failed, Server, cpu_seconds, free_ports, leave_on_sigterm, run_load, wait_until

SERVICE = """
import sys
from jaxlib import _jax
service = _jax.get_distributed_runtime_service(sys.argv[1], int(sys.argv[2]), heartbeat_timeout=100, shutdown_timeout=300)
print("ready", flush=True)
sys.stdin.read()
"""
TELL_ADDRESS = 'echo "$JAX_COORDINATOR_ADDRESS" > "$0/$RANK.new" && mv "$0/$RANK.new" "$0/$RANK" && exec sleep 100000'


def load(tasks, target, pid):
    return run_load("jax", types.SimpleNamespace(measure="form", agents=tasks), target, pid)


def measure_reference(options, tasks):
    address = "127.0.0.1:%d" % free_ports(1)[0]
    with Server([options.python, "-c", SERVICE, address, tasks], stays_open=True) as server:
        server.expect(lambda text: "ready" in text)
        return load(tasks, address, server.pid)


def open_bench(options, agents):
    return Bench(types.SimpleNamespace(agents=agents, tls_config=options.tls_config))


def measure_muster(options, tasks):
    with open_bench(options, options.agents) as bench:
        scheduler = bench.start_scheduler("--worker_num", tasks)
        words = ["--measure", "jax", "--target", "127.0.0.1:%d" % bench.port, "--agents", options.agents,
                 "--slots", options.slots, "--server_pid", scheduler.pid]
        if options.tls_config:
            words += ["--tls_config", options.tls_config]
        done = subprocess.run([str(word) for word in [BIN / "muster_load", *words]], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Failed("muster_load ended with %d" % done.returncode)
        return json.loads(done.stdout)


def measure_one_agent(options, _):
    return measure_real_agents(options, options.slots, count=1)


def measure_real_agents(options, tasks, count=None):
    with tempfile.TemporaryDirectory() as folder, open_bench(options, count or options.agents) as bench:
        scheduler = bench.start_scheduler("--worker_num", tasks)
        words = ["--worker_num", tasks, "--local_worker_num", options.slots, "--jax", "on"]
        agents = bench.cluster.start_agents(bench.options.agents, words, ("/bin/sh", "-c", TELL_ADDRESS, folder))
        ranks = [pathlib.Path(folder, str(rank)) for rank in range(tasks)]
        wait_until(lambda: len([path for path in ranks if path.exists()]) == tasks, 300, "all ranks have started", 0.5)
        addresses = pathlib.Path(folder, "addresses")
        addresses.write_text("".join(path.read_text() for path in ranks))
        before = [cpu_seconds(agent.pid) for agent in agents]
        result = load(tasks, "@%s" % addresses, scheduler.pid)
        result["agents_cpu_seconds"] = sum(cpu_seconds(agent.pid) for agent in agents) - sum(before)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--agents", type=int, default=125)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--tls_config")
    options = parser.parse_args()
    subjects = {"jaxlib": measure_reference, "muster": measure_muster, "real_agents": measure_real_agents,
                "one_agent": measure_one_agent}
    told = {name: [] for name in subjects}
    for _ in range(options.runs):
        for name, measure in subjects.items():
            told[name].append(measure(options, options.agents * options.slots))
            print(name, json.dumps(told[name][-1]), flush=True)
    figures = ("seconds", "server_cpu_seconds", "generator_cpu_seconds", "server_rss_mb", "agents_cpu_seconds")
    print(json.dumps({name: {figure: round(statistics.median(run[figure] for run in runs), 3)
                             for figure in figures if figure in runs[0]} for name, runs in told.items()}))


if __name__ == "__main__":
    leave_on_sigterm()
    try:
        main()
    except Failed as failed:
        sys.exit(str(failed))
