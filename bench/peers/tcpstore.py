"""PyTorch's TCPStore as a bare barrier: N clients connect, each sets its own entry and waits for the last one's key.

    tcpstore.py --agents 1000

Every PyTorch rendezvous uses this store. Here it has only a barrier: no liveness, no recovery, no peer list. A
client takes its number from the store (add), sets its 200 bytes and waits for a key that the last one sets. Clients are
threads in up to 16 processes (the store's calls run outside Python's lock). Measured from the first connect to the
last return.
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

from forked import Children, leave_dns_out  # noqa: E402
from measuring import become_main, cpu_seconds, memory_mb  # noqa: E402

leave_dns_out()

import torch.distributed as dist  # noqa: E402

_PROCESSES = 16
_ENTRY = "x" * 200  # about the size of an agent's description in its join


def one_client(port, agents):
    begin = time.monotonic()
    store = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    rank = store.add("joined", 1) - 1
    store.set("agent/%d" % rank, _ENTRY)
    if rank == agents - 1:
        store.set("formed", "1")
    store.wait(["formed"])
    return begin, time.monotonic(), rank, store


def clients_in_threads(port, agents, count):
    results = []  # with their stores: a connection stays open until all are done
    threads = [threading.Thread(target=lambda: results.append(one_client(port, agents))) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [result[:3] for result in results]


def measure():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, required=True)
    parser.add_argument("--timeout", type=int, default=300)
    options = parser.parse_args()
    processes = min(_PROCESSES, options.agents)
    shares = [options.agents * (i + 1) // processes - options.agents * i // processes for i in range(processes)]
    port_file = os.memfd_create("port")  # the store's port is known only after the fork

    def work(index):
        return clients_in_threads(int(os.pread(port_file, 16, 0)), options.agents, shares[index])

    children = Children(processes, work)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.pwrite(port_file, b"%d" % store.port, 0)
    cpu = cpu_seconds(os.getpid())
    children.open_gate()
    results = [client for share in children.results(options.timeout) for client in share]
    return {"measure": "form", "subject": "tcpstore", "agents": options.agents,
            "failed": options.agents - len({rank for _, _, rank in results}),
            "seconds": max(end for _, end, _ in results) - min(begin for begin, _, _ in results),
            "server_cpu_seconds": cpu_seconds(os.getpid()) - cpu, "server_rss_mb": memory_mb(os.getpid())}


if __name__ == "__main__":
    become_main(measure)
