#!/usr/bin/env python3
"""Measures how many changes of a job's store are acknowledged in a second, and how long each takes.

    bench/store_speed.py build/bin [--agents 8] [--seconds 8]

Starts a scheduler with its journal on this disk and so many agents, all on this machine. The process of each agent adds
1 to a key of its own over its agent's gateway, each time after the last answer. An answer comes after the journal's
fsync. Also prints how many fsyncs of 4 KiB this disk makes in a second, measured right before. Standard library only."""
import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))
from mindspore_client import Connection, field  # noqa: E402


async def be_a_rank(seconds, folder):
    connection = await Connection(os.environ["MS_SCHED_HOST"], int(os.environ["MS_SCHED_PORT"])).open()
    rank, took = os.environ["RANK"], []
    await asyncio.sleep(1)  # until all have started
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        asked = time.monotonic()
        name, _ = await connection.ask(10, field(1, f"speed/{rank}") + field(2, "1"))
        assert name == "11", name
        took.append(time.monotonic() - asked)
    Path(folder, f"rank{rank}").write_text(json.dumps(took))


def fsyncs(folder, seconds=2):
    with open(Path(folder, "floor"), "wb", buffering=0) as file:
        count, begin = 0, time.monotonic()
        while time.monotonic() - begin < seconds:
            file.write(bytes(4096))
            os.fsync(file.fileno())
            count += 1
    return count / seconds


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure(binaries, agents, seconds, folder):
    floor, port = fsyncs(folder), str(free_port())
    environment = {**os.environ, "HOME": folder, "XDG_RUNTIME_DIR": folder, "XDG_STATE_HOME": folder}
    common = ["--sched_host", "127.0.0.1", "--sched_port", port, "--worker_num", str(agents)]
    log = open(Path(folder, "log"), "wb")
    scheduler = subprocess.Popen([binaries / "ms-scheduler", *common, "--admin_socket", f"{folder}/admin",
                                  "--journal_path", f"{folder}/journal.db"], env=environment, stderr=log)
    workers = []
    try:
        for i in range(agents):
            rank = [sys.executable, __file__, "--rank", folder, "--seconds", str(seconds)]
            workers.append(subprocess.Popen([binaries / "ms-worker", *common, "--node_id", f"n{i}", "--recovery_path",
                                             f"{folder}/n{i}", "--", *rank], env=environment, stdout=log, stderr=log))
        if any(worker.wait(seconds + 60) != 0 for worker in workers):
            sys.exit(f"the job failed:\n{Path(folder, 'log').read_text()}")
    finally:
        for process in [*workers, scheduler]:
            process.terminate()
            process.wait(30)
    took = sorted(time for rank in range(agents) for time in json.loads(Path(folder, f"rank{rank}").read_text()))
    print(f"{agents} agents: {len(took) / seconds:.0f} changes a second; "
          f"each took {1000 * took[len(took) // 2]:.1f} ms (median), {1000 * took[len(took) * 99 // 100]:.1f} ms (p99); "
          f"{floor:.0f} fsyncs a second; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=lambda path: Path(path).resolve(), nargs="?", default=ROOT / "build" / "bin")
    parser.add_argument("--agents", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank:
        return asyncio.run(be_a_rank(arguments.seconds, arguments.rank))
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:  # not /tmp, which may be memory
        measure(arguments.binaries, arguments.agents, arguments.seconds, folder)


if __name__ == "__main__":
    main()
