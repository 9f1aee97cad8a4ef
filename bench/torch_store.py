"""Compares our server of PyTorch's store with PyTorch's own, using PyTorch's clients. One line of JSON for each server.

    python3 bench/torch_store.py --python PYTHON [--connections 1000] [--neighbours 8] [--runs 3]

PYTHON's PyTorch has the clients and the server to use (2.13: the libuv one; 1.13 has only one). Forked processes hold
the connections; each connection sets one key and reads those of its neighbours. The servers take turns. The output has
the medians of the runs: seconds of connecting, seconds of setting and reading, and the server's processor time for all
of it, user and kernel. Both servers, and the clients, share this machine.

    python3 bench/torch_store.py --python PYTHON --relays 32 [--ranks 256]

A start of gloo: each rank sets its key, then waits for and reads all others' (ranks² reads). Our store has that many
relays in front of it; PyTorch's own has none. The ranks are sockets of a few processes that speak PyTorch 2's protocol,
all at once, since PyTorch's client has one request in progress in each process. The processor time is that
of the store's process; the relays' is reported separately.
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
from torch_store_wire import Relays, Stores  # noqa: E402

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


GLOO = r"""
import json, os, select, socket, struct, sys, time
ranks, processes = int(sys.argv[1]), int(sys.argv[2])
ports = [int(word) for word in sys.argv[3:]]
text = lambda value: struct.pack("<Q", len(value)) + value
keys = [b"/default_pg/0//cpu//0/%d" % rank for rank in range(ranks)]
waits = [b"\x06" + struct.pack("<Q", 1) + text(key) for key in keys]
gets = [b"\x03" + text(key) for key in keys]
value = b"v" * 100
turns = [os.pipe() for _ in range(3)]   # ready, go, done
class Rank:
    def __init__(self, rank):
        self.socket = socket.create_connection(("127.0.0.1", ports[rank * len(ports) // ranks]))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"\x00\xce\xf7\x85\x3c\x0d" + struct.pack("<I", rank))
        assert self.socket.recv(4, socket.MSG_WAITALL) == struct.pack("<I", rank)
        self.rank, self.at, self.got = rank, 0, b""
    def begin(self):
        self.socket.sendall(b"\x01" + text(keys[self.rank]) + text(value) + waits[0])
        self.needed = 1
    def go_on(self):
        self.got += self.socket.recv(4096)
        if len(self.got) < self.needed: return False
        assert len(self.got) == self.needed
        if self.needed == 1:
            self.needed = 8 + len(value)
            self.socket.sendall(gets[self.at])
        else:
            assert self.got[8:] == value
            self.at += 1
            if self.at == ranks: return True
            self.needed = 1
            self.socket.sendall(waits[self.at])
        self.got = b""
        return False
for process in range(processes):
    if os.fork() == 0:
        own = [Rank(rank) for rank in range(process * ranks // processes, (process + 1) * ranks // processes)]
        os.write(turns[0][1], b"x")
        os.read(turns[1][0], 1)
        poll = select.epoll()
        by_fd = {each.socket.fileno(): each for each in own}
        for fd, each in by_fd.items():
            poll.register(fd, select.EPOLLIN)
            each.begin()
        left = len(own)
        while left:
            for fd, _ in poll.poll():
                if by_fd[fd].go_on(): left -= 1
        os.write(turns[2][1], b"x")
        os._exit(0)
def all_of(pipe):
    got = 0
    while got < processes:
        got += len(os.read(pipe, processes - got))
begun = time.monotonic()
all_of(turns[0][0])
connected = time.monotonic()
os.write(turns[1][1], b"x" * processes)
all_of(turns[2][0])
print(json.dumps({"connect_seconds": connected - begun, "use_seconds": time.monotonic() - connected}))
"""


def measure_gloo(stores, relays, arguments):
    port = stores.new()
    ports = [str(each) for each in (relays.to(port) if relays else [port])]
    pids = [stores.pid] + ([relays.pid] if relays else [])
    before = [processor_seconds(pid) for pid in pids]
    told = subprocess.run([sys.executable, "-c", GLOO, str(arguments.ranks), str(arguments.processes), *ports],
                          check=True, capture_output=True, text=True)
    after = [processor_seconds(pid) for pid in pids]
    result = json.loads(told.stdout)
    result["user_seconds"], result["kernel_seconds"] = (b - a for a, b in zip(before[0], after[0]))
    if relays:
        result["relays_seconds"] = sum(after[1]) - sum(before[1])
    return result


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
    parser.add_argument("--relays", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=256)
    arguments = parser.parse_args()
    leave_dns_out()
    relays = Relays(arguments.relays) if arguments.relays else None
    subjects = {"muster": Stores.ours(), "pytorch": Stores.torchs_own(arguments.python)}
    results = {
name: [] for name in subjects}
    for _ in range(arguments.runs):
        for name, stores in subjects.items():
            if relays:
                results[name].append(measure_gloo(stores, relays if name == "muster" else None, arguments))
            else:
                results[name].append(measure(stores, arguments))
    load = ({
  "ranks" : arguments.ranks, "relays" : arguments.relays} if relays else
            {"connections": arguments.connections, "neighbours": arguments.neighbours})
    for name, stores in subjects.items():
        stores.close()
        medians = {
key: round(statistics.median(each[key] for each in results[name]), 3) for key in results[name][0]}
        print(json.dumps({"subject": name, **load, "runs": arguments.runs, **medians}))
    if relays:
        relays.close()


if __name__ == "__main__":
    main()
