"""Our server of PyTorch's store beside PyTorch's own, with PyTorch's own clients. One line of JSON for each server.

    python3 bench/torch_store.py --python PYTHON [--connections 1000] [--neighbours 8] [--runs 3]

PYTHON has the PyTorch whose clients and server are used (2.13: libuv; 1.13: its only one). Forked processes hold the
connections; each connection sets one key and reads those of its neighbours. The servers take turns; the median of the
runs is printed: seconds of connecting, seconds of setting and reading, and the server's processor time for all of it,
user and kernel. Both servers, and the clients, share this machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "bench" / "peers"), str(ROOT / "tests" / "e2e" / "support")]

from forked import leave_dns_out  # noqa: E402
from torch_store_wire import Stores  # noqa: E402

CLIENTS = r"""
import datetime, json, os, sys, time
import torch.distributed as dist
port, count, neighbours, processes = (int(word) for word in sys.argv[1:])
patience = datetime.timedelta(seconds=120)
turns = [os.pipe() for _ in range(3)]   # ready, go, done
begun = time.monotonic()
for process in range(processes):
    if os.fork() == 0:
        own = range(process, count, processes)
        stores = {i: dist.TCPStore("127.0.0.1", port, None, False, patience, False) for i in own}
        os.write(turns[0][1], b"x")
        os.read(turns[1][0], 1)
        for i, store in stores.items():
            store.set("key/%d" % i, "v" * 64)
        for i, store in stores.items():
            for n in range(1, neighbours + 1):
                assert len(store.get("key/%d" % ((i + n) % count))) == 64
        os.write(turns[2][1], b"x")
        os._exit(0)
def all_of(pipe):
    got = 0
    while got < processes:
        got += len(os.read(pipe, processes - got))
all_of(turns[0][0])
connected = time.monotonic()
os.write(turns[1][1], b"x" * processes)
all_of(turns[2][0])
print(json.dumps({"connect_seconds": connected - begun, "use_seconds": time.monotonic() - connected}))
"""


def processor_seconds(pid):
    words = pathlib.Path("/proc/%d/stat" % pid).read_text().rsplit(")", 1)[1].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return int(words[11]) / ticks, int(words[12]) / ticks


def measure(stores, arguments):
    port = stores.new()
    before = processor_seconds(stores.pid)
    told = subprocess.run([arguments.python, "-c", CLIENTS, str(port), str(arguments.connections),
                           str(arguments.neighbours), str(arguments.processes)], check=True, capture_output=True, text=True)
    after = processor_seconds(stores.pid)
    result = json.loads(told.stdout)
    result["user_seconds"], result["kernel_seconds"] = (b - a for a, b in zip(before, after))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--neighbours", type=int, default=8)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    leave_dns_out()
    subjects = {"muster": Stores.ours(), "pytorch": Stores.torchs_own(arguments.python)}
    results = {name: [] for name in subjects}
    for _ in range(arguments.runs):
        for name, stores in subjects.items():
            results[name].append(measure(stores, arguments))
    for name, stores in subjects.items():
        stores.close()
        medians = {key: round(statistics.median(each[key] for each in results[name]), 3) for key in results[name][0]}
        print(json.dumps({"subject": name, "connections": arguments.connections, "neighbours": arguments.neighbours,
                          "runs": arguments.runs, **medians}))


if __name__ == "__main__":
    main()
