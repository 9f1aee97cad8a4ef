"""The job's store and barriers, as scripts use them with `import muster`."""

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from muster import BIN, SCRIPTS

ASKS = [sys.executable, SCRIPTS / "asks_the_store.py"]


def start(cluster, what, *words, nodes=2, each=2, scheduler=()):
    cluster.start_scheduler("--once", *scheduler)
    return cluster.start_agents(nodes, ["--worker_num", nodes * each, "--local_worker_num", each, *words],
                                [*ASKS, what])


def said(agents, pattern):
    return [line for agent in agents for line in re.findall(pattern, agent.output())]


def test_all_that_the_module_offers(cluster):
    agents = start(cluster, "everything")
    for agent in agents:
        agent.expect(0, timeout=60)
    assert sorted(said(agents, r"rank (\d) has seen everything")) == ["0", "1", "2", "3"]


def test_a_barrier_names_the_missing_ranks(cluster):
    agents = start(cluster, "one_stays_away")
    for agent in agents:
        agent.expect(0, timeout=60)
    told = said(agents, r"rank (\d): Barrier timed out\. Id: \"all\"\. 3 of 4 ranks have come; missing: 3 on \S+\.")
    assert sorted(told) == ["0", "1", "2"]


def test_a_waiter_receives_the_reason_of_the_rounds_end(cluster):
    agents = start(cluster, "dies", "--enable_recovery")
    for agent in agents:
        agent.expect(0, timeout=60)
    told = said(agents, r"rank (\d): round over: (.*)")
    assert told and all("SIGKILL" in why for _, why in told), told
    assert sorted(said(agents, r"rank (\d) came back")) == ["0", "1", "2", "3"]


def test_a_killed_scheduler_costs_no_change_and_makes_none_twice(cluster):
    words = ["--journal_path", cluster.folder / "journal"]
    scheduler = cluster.start_scheduler(*words)
    agents = cluster.start_agents(2, ["--worker_num", 4, "--local_worker_num", 2], [*ASKS, "counts"])
    for agent in agents:
        agent.expect_said(r"rank \d counts", timeout=30)
    for _ in range(2):
        scheduler.send(signal.SIGKILL)
        scheduler.wait(10)
        time.sleep(0.3)
        scheduler = cluster.start_scheduler(*words, name="scheduler%d" % time.monotonic_ns(), port=scheduler.port)
        time.sleep(0.5)
    for agent in agents:
        agent.expect(0, timeout=60)
    assert said(agents, r"rank \d: count=(\d+)") == ["400"] * 4


def test_one_process_for_the_node_has_the_store_and_no_barriers(cluster):
    (agent,) = start(cluster, "reaches_nothing", "--per_node", nodes=1)
    agent.expect(0, timeout=30)
    assert "refused: a barrier is for ranks, and this process has no rank of its own" in agent.output()
    assert "set: there" in agent.output()


def test_outside_of_muster_it_says_so():
    done = subprocess.run([sys.executable, "-c", "import muster; muster.store()"], text=True, stderr=subprocess.PIPE,
                          env={"PYTHONPATH": str(BIN.parent / "lib/muster/python")}, check=False)
    assert "StoreError: MUSTER_STORE is not set: only processes that ms-worker starts" in done.stderr


def test_lines_by_hand(cluster):
    cluster.start_scheduler("--once")
    agent = cluster.start_agent("agent", ["--worker_num", 1], ["sh", "-c", "echo store=$MUSTER_STORE; exec sleep 60"])
    port = int(agent.expect_said(r"store=127\.0\.0\.1:(\d+)", timeout=20).group(1))
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b'{"op":"add","key":"seen","delta":1}\n{"op":"read"}\n')
        connection.shutdown(socket.SHUT_WR)
        lines = connection.makefile("rb").read().splitlines()
    assert json.loads(lines[0]) == {"number": 1}
    assert json.loads(lines[1]) == {"error": "INVALID_ARGUMENT", "message": 'no such op: "read"'}
    agent.send(signal.SIGTERM)
    agent.wait(20)


def test_another_user_of_the_machine_is_not_served(cluster):
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    cluster.start_scheduler("--once")
    agent = cluster.start_agent("agent", ["--worker_num", 1, "--stop_timeout", 1],
                                ["sh", "-c", "echo store=$MUSTER_STORE; exec sleep 60"])
    port = agent.expect_said(r"store=127\.0\.0\.1:(\d+)", timeout=20).group(1)
    asks = ("import socket,sys; c=socket.create_connection(('127.0.0.1', int(sys.argv[1])), 10); "
            "c.sendall(b'{\"op\":\"get\",\"key\":\"a\"}\\n'); print(c.recv(100))")
    stranger = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", sys.executable, "-c",
                               asks, port], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert "b''" in stranger.stdout or "ConnectionResetError" in stranger.stdout, stranger.stdout
    own = subprocess.run([sys.executable, "-c", asks, port], text=True, stdout=subprocess.PIPE, check=True)
    assert '{"value":null}' in own.stdout
    agent.expect_said(r"WARNING .*\b65534\b|WARNING .*nobody", timeout=5)
    agent.send(signal.SIGTERM)
    agent.wait(20)


def test_the_module_is_python_3_8():
    folder = BIN.parent / "lib/muster/python/muster"
    for file in folder.glob("*.py"):
        ast.parse(file.read_text(), feature_version=(3, 8))
