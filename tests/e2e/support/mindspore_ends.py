"""Starts the two ends that speak MindSpore's protocol for a test: an agent's gateway and --mindspore_port."""

import collections
import pathlib
import socket
import struct
import threading
import time

import mindspore_client as client
from muster import free_port

ENDS = ["gateway", "mindspore_port"]

# `program` is the program that listens at the port.
End = collections.namedtuple("End", "host port program")


def start_direct(cluster, workers, *words, **options):
    """A scheduler with --mindspore_port."""
    port = free_port()
    scheduler = cluster.start_scheduler("--worker_num", workers, "--mindspore_port", port, *words, **options)
    scheduler.expect_said(r"may register at")
    return End("127.0.0.1", port, scheduler)


def start_gateway(cluster, workers, *words, **options):
    """Starts an agent with processes that do nothing: the test speaks for them, on the port of the first."""
    if cluster.scheduler is None:
        cluster.start_scheduler("--worker_num", workers, **options)
    agent = cluster.start_agent("agent", ["--worker_num", workers, "--local_worker_num", workers, *words],
                                ["sh", "-c", "echo gateway $RANK at $MS_SCHED_HOST $MS_SCHED_PORT; exec sleep 1000"],
                                **options)
    found = agent.expect_said(r"gateway 0 at (\S+) (\d+)$", timeout=30)
    return End(found.group(1), int(found.group(2)), agent)


def start_end(name, cluster, workers, *words, **options):
    start = {"gateway": start_gateway, "mindspore_port": start_direct}[name]
    return start(cluster, workers, *words, **options)


class ServerThread:
    """The thread that speaks MindSpore's protocol in a program."""

    def __init__(self, pid):
        tasks = pathlib.Path("/proc/%d/task" % pid).iterdir()
        (self.task,) = [task for task in tasks if (task / "comm").read_text().strip() == "ms-mindspore"]

    def starved(self):
        """Returns how long it has waited for a processor so far."""
        return int((self.task / "schedstat").read_text().split()[1]) / 1e9


class Beats:
    """A well-behaved process of rank 0 with timed heartbeats, in a thread of its own. It measures them with and without
    the time in which the server's thread was ready and the machine had no processor for it."""

    def __init__(self, end):
        self.end, self.times, self.is_over = end, [], False

    def __enter__(self):
        self.sock = socket.create_connection((self.end.host, self.end.port))
        self.sock.settimeout(10)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ask(b"0", client.field(1, "0") + client.field(3, "MS_WORKER"))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def ask(self, name, body):
        self.sock.sendall(client.frame(name, body))
        header = self.sock.recv(20, socket.MSG_WAITALL)
        self.sock.recv(sum(struct.unpack(">4I", header[4:])), socket.MSG_WAITALL)

    def run(self):
        server = ServerThread(self.end.program.pid)
        while not self.is_over:
            begin, starved = time.monotonic(), server.starved()
            self.ask(b"2", client.field(1, "0"))
            took = time.monotonic() - begin
            self.times.append((took - min(took, server.starved() - starved), took))
            time.sleep(0.01)

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        self.sock.close()

    def slowest(self, rounds, seconds=0.5):
        """The median, over so many spans of time, of the slowest heartbeat; without and with the machine's share."""
        found = []
        for _ in range(rounds):
            begin = len(self.times)
            time.sleep(seconds)
            while len(self.times) < begin + 5 and self.thread.is_alive():
                time.sleep(0.02)
            found.append([max(figures) for figures in zip(*self.times[begin:])])
        return [sorted(figures)[rounds // 2] for figures in zip(*found)]
