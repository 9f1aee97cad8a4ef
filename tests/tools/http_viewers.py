#!/usr/bin/env python3
"""Measures what viewers of the page cost a forming job's scheduler, and what hostile HTTP clients cost heartbeats.

    MUSTER_BIN=build/bin /usr/bin/python3 tests/tools/http_viewers.py [--agents 5500] [--viewers 200] [--pairs 5]

Runs with and without them follow each other in pairs; the output has the medians and their ratio. A viewer does what the
page does: it opens an event stream if one is free, else it polls; every two seconds it fetches all jobs and the map of the
first. The viewers come from as many addresses as people would, because one address may hold at most half of the connections.
"""
import argparse
import asyncio
import json
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))

import http_client  # noqa: E402
import muster  # noqa: E402
from muster import BIN  # noqa: E402

VIEWER_SECONDS = 2
SCRAPE_SECONDS = 10


async def ask(streams, path):
    reader, writer = streams
    writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
    return int(head.split()[1]), await reader.readexactly(length)


async def view(port, number):
    address = "127.0.1.%d" % (1 + number % 200)
    job, known = None, ""
    while True:
        try:
            stream = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=1 << 24)
            if number < 64:  # there are only so many event streams
                events = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0), limit=1 << 24)
                events[1].write(b"GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\n\r\n")
                asyncio.get_running_loop().create_task(drain(events[0]))
            await asyncio.sleep(VIEWER_SECONDS * number / 200)
            while True:
                _, body = await ask(stream, "/api/v1/jobs")
                found = re.search(rb'"job_id": "([^"]+)"', body)
                if found:
                    job = found.group(1).decode()
                    _, body = await ask(stream, "/api/v1/jobs/%s/map?names=0" % job)
                    version = re.search(rb'"names_version": "(\w+)"', body)
                    if version and version.group(1) != known:
                        known = version.group(1)
                        await ask(stream, "/api/v1/jobs/%s/map?names=1" % job)
                await asyncio.sleep(VIEWER_SECONDS)
        except (OSError, asyncio.IncompleteReadError, AttributeError):
            await asyncio.sleep(0.5)


async def drain(reader):
    while await reader.read(65536):
        pass


async def scrape(port):
    while True:
        stream = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        await ask(stream, "/metrics")
        stream[1].close()
        await asyncio.sleep(SCRAPE_SECONDS)


async def be_viewers(port, count):
    tasks = [asyncio.create_task(view(port, number)) for number in range(count)] + [asyncio.create_task(scrape(port))]
    await asyncio.sleep(1)
    print("on", flush=True)
    await asyncio.gather(*tasks)


def be_hostile(port, count):
    """Runs clients that send half a request, that read nothing of the answer, and that send nonsense, again and
    again."""
    print("on", flush=True)
    clients = []
    while True:
        while len(clients) < count:
            client = socket.socket()
            client.settimeout(2)
            try:
                client.bind(("127.0.2.%d" % (1 + len(clients) % 250), 0))
                client.connect(("127.0.0.1", port))
                client.sendall([b"GET / HT", b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20, b"\x16\x03\x01" + bytes(200)]
                               [len(clients) % 3])
            except OSError:
                client.close()
                time.sleep(0.001)
                continue
            clients.append(client)
        ended = []
        for client in clients:
            try:
                client.setblocking(False)
                if client.recv(1) == b"":
                    ended.append(client)
            except BlockingIOError:
                pass
            except OSError:
                ended.append(client)
        for client in ended:
            client.close()
            clients.remove(client)
        time.sleep(0.05)


def wait_p99(port):
    """The wait in milliseconds that 99 % of the loop's events did not exceed, from the histogram."""
    text = http_client.ask(port, "/metrics")[2]
    buckets = [(float(edge.replace("+Inf", "inf")), float(count)) for edge, count in
               re.findall(r'muster_loop_wait_seconds_bucket\{le="([^"]+)"\} (\S+)', text)]
    wanted, low, before = 0.99 * buckets[-1][1], 0.0, 0.0
    for edge, count in buckets:
        if count >= wanted:
            return 1e3 * (low + (edge - low) * (wanted - before) / max(1.0, count - before)) if edge != float("inf") else 1e3 * low
        low, before = edge, count
    return None


def run(measure, role, count, arguments):
    """One run: muster_load's result, with the loop's wait."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-viewers-"))
    cluster = muster.Cluster(folder)
    crowd = None
    try:
        scheduler = cluster.start_scheduler("--http_address", "127.0.0.1:0")
        port = http_client.port_of(scheduler)
        if count:
            crowd = subprocess.Popen([sys.executable, __file__, role, str(port), str(count)], stdout=subprocess.PIPE, text=True)
            assert crowd.stdout.readline() == "on\n"
        words = ["--window", "10", "--interval", "1"] if measure == "heartbeat" else []
        load = subprocess.run([BIN / "muster_load", "--measure", measure, "--target", "127.0.0.1:%d" % scheduler.port,
                               "--agents", str(arguments.agents), "--slots", "8", "--server_pid", str(scheduler.pid), *words],
                              stdout=subprocess.PIPE, text=True, check=True, timeout=300)
        said = json.loads(load.stdout.splitlines()[-1])
        said["loop_wait_p99_ms"] = wait_p99(port)
        return said
    finally:
        if crowd is not None:
            crowd.kill()
            crowd.wait()
        cluster.close()


def compare(title, measure, role, count, keys, arguments):
    print("%s (%d agents x 8, medians of %d pairs)" % (title, arguments.agents, arguments.pairs))
    without, beside = [], []
    for _ in range(arguments.pairs):
        without.append(run(measure, role, 0, arguments))
        beside.append(run(measure, role, count, arguments))
    for key in keys:
        a, b = (statistics.median(one[key] for one in runs) for runs in (without, beside))
        print("  %-20s %10.3f without, %10.3f beside them: %.2f x" % (key, a, b, b / a if a else float("nan")))


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "viewers":
        return asyncio.run(be_viewers(int(sys.argv[2]), int(sys.argv[3])))
    if len(sys.argv) == 4 and sys.argv[1] == "hostile":
        return be_hostile(int(sys.argv[2]), int(sys.argv[3]))
    parser = argparse.ArgumentParser(description="What viewers of the page cost.")
    parser.add_argument("--agents", type=int, default=5500)
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--hostile", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    muster.become_subreaper()
    compare("%d viewers and a scrape while a job forms" % arguments.viewers, "form", "viewers", arguments.viewers,
            ["server_cpu_seconds", "seconds", "loop_wait_p99_ms"], arguments)
    arguments.agents = min(arguments.agents, 1000)
    compare("%d slow and hostile clients beside heartbeats" % arguments.hostile, "heartbeat", "hostile", arguments.hostile,
            ["answer_p50_ms", "answer_p99_ms", "server_cpu_seconds", "loop_wait_p99_ms"], arguments)


main()
