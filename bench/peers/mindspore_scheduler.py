"""MindSpore's own scheduler (MS_ROLE=MS_SCHED, MindSpore 2.10), driven by the reference client of its protocol.

    mindspore_scheduler.py --agents 64

Measured from the first client's connect until the last one knows that the cluster is complete and holds its rank. A
client asks every 0.5 s, as MindSpore's processes do (every 3 to 5 s from 129 on). Most of the time is this polling, not
the server's work. Runs with the python that has MindSpore.
"""

import argparse
import asyncio
import os
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from measuring import ROOT, Server, become_main, cpu_seconds, free_ports, memory_mb  # noqa: E402

sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))

import mindspore_client  # noqa: E402

_SCHEDULER = """
import mindspore as ms
from mindspore.communication import init
ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
init()
"""


async def form(port, agents):
    clients = [mindspore_client.Process("2.10", "127.0.0.1", port, number, agents) for number in range(agents)]

    async def join(client):
        await client.start()
        await client.complete.wait()
        return time.monotonic()

    begin = time.monotonic()
    ends = await asyncio.gather(*map(join, clients))
    for client in clients:
        client.crash()
    return max(ends) - begin


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def measure():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, required=True)
    options = parser.parse_args()
    port, = free_ports(1)
    env = dict(os.environ, MS_ROLE="MS_SCHED", MS_SCHED_HOST="127.0.0.1", MS_SCHED_PORT=str(port),
               MS_WORKER_NUM=str(options.agents), GLOG_v="3", OMP_NUM_THREADS="1")
    with Server([sys.executable, "-c", _SCHEDULER], env=env) as server:
        server.expect(lambda _: is_open(port), timeout=120)
        cpu = cpu_seconds(server.pid)
        seconds = asyncio.run(asyncio.wait_for(form(port, options.agents), 120))
        return {"measure": "form", "subject": "mindspore", "agents": options.agents, "seconds": seconds,
                "server_cpu_seconds": cpu_seconds(server.pid) - cpu, "server_rss_mb": memory_mb(server.pid)}


if __name__ == "__main__":
    become_main(measure)
