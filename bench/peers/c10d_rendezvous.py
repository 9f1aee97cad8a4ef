"""PyTorch's dynamic rendezvous (c10d), with which torchrun's agents form a round: N agents, min = max = N.

    c10d_rendezvous.py --agents 64 [--how processes|threads]

An agent is the DynamicRendezvousHandler that torchrun makes, with torchrun's defaults. Each has a process of its own as
long as memory allows, else 16 share one; --how overrides this. Measured from the first agent's connect to the store
until the last next_rendezvous() has returned. PyTorch's import and the start of processes do not count, nor does the
exchange of worker ranks that torchrun's agent adds. The store runs before any agent connects.
"""

import argparse
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"  # children are forked from a process with one thread
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

from forked import Children, TimedOut, leave_dns_out  # noqa: E402
from measuring import available_mb, become_main, cpu_seconds, memory_mb  # noqa: E402

leave_dns_out()

import torch.distributed as dist  # noqa: E402
from torch.distributed.elastic.rendezvous import RendezvousParameters  # noqa: E402
from torch.distributed.elastic.rendezvous import c10d_rendezvous_backend  # noqa: E402
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler  # noqa: E402

_MB_EACH = 20  # the memory that a forked agent needs for itself, with room: PyTorch itself is shared
_THREADS_EACH = 16


def one_agent(port, agents):
    """Forms one round; returns when it began and ended, and the rank."""
    parameters = RendezvousParameters(backend="c10d", endpoint="127.0.0.1:%d" % port, run_id="bench", min_nodes=agents,
                                      max_nodes=agents, local_addr="127.0.0.1", is_host=False, join_timeout=600)
    begin = time.monotonic()
    backend, store = c10d_rendezvous_backend.create_backend(parameters)
    handler = create_handler(store, backend, parameters)
    info = handler.next_rendezvous()
    return begin, time.monotonic(), info.rank, info.world_size


def agents_in_threads(port, agents, count):
    results = []
    threads = [threading.Thread(target=lambda: results.append(one_agent(port, agents))) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def measure():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, required=True)
    parser.add_argument("--how", choices=("auto", "processes", "threads"), default="auto")
    parser.add_argument("--timeout", type=int, default=600)
    options = parser.parse_args()
    fits = options.agents * _MB_EACH < available_mb() * 0.7
    in_processes = options.how == "processes" or (options.how == "auto" and fits)
    each = 1 if in_processes else _THREADS_EACH
    shares = [min(each, options.agents - first) for first in range(0, options.agents, each)]
    port_file = os.memfd_create("port")  # the store's port is known only after the fork

    def work(index):
        port = int(os.pread(port_file, 16, 0))
        return agents_in_threads(port, options.agents, shares[index])

    children = Children(len(shares), work)
    # The store's server thread must not exist yet when the children are forked.
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.pwrite(port_file, b"%d" % store.port, 0)
    cpu = cpu_seconds(os.getpid())
    children.open_gate()
    result = {"measure": "form", "subject": "c10d", "agents": options.agents,
              "how": "processes" if in_processes else "threads, %d in a process" % _THREADS_EACH}
    try:
        rounds = [agent for share in children.results(options.timeout) for agent in share]
    except TimedOut:  # no round formed: the time it would take is not known, only that it is longer
        return dict(result, seconds=options.timeout, at_least=True)
    failed = options.agents - len({rank for _, _, rank, size in rounds if size == options.agents})
    return dict(result, failed=failed,
                seconds=max(end for _, end, _, _ in rounds) - min(begin for begin, _, _, _ in rounds),
                server_cpu_seconds=cpu_seconds(os.getpid()) - cpu, server_rss_mb=memory_mb(os.getpid()))


if __name__ == "__main__":
    become_main(measure)
