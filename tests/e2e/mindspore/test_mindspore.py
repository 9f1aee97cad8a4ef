"""MindSpore's protocol at both ends (an agent's gateway, --mindspore_port), with the reference client."""

import asyncio
import json
import re
import sys
import time

import pytest

import mindspore_client as client
from mindspore_ends import start_direct, start_gateway
from muster import BIN, HERE, SLOWNESS

CLIENT = HERE / "mindspore_client.py"
VERSIONS = list(client.VERSIONS)
# In any case 1,000 with the newest version.
SIZES = [pytest.param(workers, version, marks=[pytest.mark.long] if workers == 1000 and version != VERSIONS[-1] else [])
         for workers in (1, 8, 128, 129, 1000) for version in VERSIONS]


@pytest.mark.parametrize("workers,version", SIZES)
def test_gateway(cluster, version, workers):
    """One program acts as all processes of the agent."""
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", workers, "--per_node", "--",
                                    sys.executable, CLIENT, version, 0, workers])
    agent.expect(0, timeout=120)
    told = json.loads(re.search(r"^\{.*\}$", agent.output(), re.MULTILINE).group(0))
    assert told["ranks"] == list(range(workers))
    assert all(int(rank) == local for rank, local in told["local"].items())


@pytest.mark.parametrize("workers,version", SIZES)
def test_without_an_agent(cluster, version, workers):
    port = start_direct(cluster, workers).port
    processes = asyncio.run(client.whole_life(version, "127.0.0.1", port, range(workers), workers))
    assert sorted(process.rank for process in processes) == list(range(workers))
    assert all(process.nodes == workers for process in processes)


def test_a_port_for_each_slot(cluster):
    script = "import os, sys; os.execv(sys.executable, [sys.executable, %r, '2.10', os.environ['MS_NODE_ID'], '1'])"
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 3, "--", sys.executable,
                                    "-c", script % str(CLIENT)])
    agent.expect(0, timeout=60)
    for rank in range(3):
        assert re.search(r'\[rank %d\] \{"ranks": \[%d\], "local": \{"%d": %d\}' % (rank, rank, rank, rank),
                         agent.output()), agent.tail()


def run_on_two_machines(cluster, network, own_names):
    """2 x 2 processes; returns what each printed, by rank."""
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 4, "--once", host=first.address, netns=first.name)
    script = ("import os, sys; print('at', os.environ['MS_SCHED_HOST']); sys.stdout.flush(); "
              "os.execv(sys.executable, [sys.executable, %r, '2.4', os.environ['MS_NODE_ID'], '1'])" % str(CLIENT))
    agents = []
    for number, (machine, name) in enumerate(zip((first, second), own_names)):
        renamed = ["unshare", "--uts", "sh", "-c", 'echo %s > /proc/sys/kernel/hostname; exec "$@"' % name, "sh"]
        agents.append(cluster.start("agent%d" % number, [
            *renamed, BIN / "ms-worker", *cluster.agent_words(), "--worker_num", 4, "--local_worker_num", 2,
            "--node_rank", number, "--", sys.executable, "-c", script], netns=machine.name))
    told = {}
    for agent, machine in zip(agents, (first, second)):
        agent.expect(0, timeout=60)
        assert "at %s" % machine.address in agent.output(), "the gateway is on the node's own address"
        for rank, text in re.findall(r"\[rank (\d)\] (\{.*\})$", agent.output(), re.MULTILINE):
            told[int(rank)] = json.loads(text)
    assert sorted(told) == [0, 1, 2, 3], agents[0].tail()
    for rank in range(4):
        assert told[rank]["ranks"] == [rank] and told[rank]["local"] == {str(rank): rank % 2}, told
    return told


def test_two_machines_of_one_name(cluster, network):
    """The name of the other machine differs; local ranks count per machine."""
    told = run_on_two_machines(cluster, network, ["node", "node"])
    for rank in (0, 1):
        assert told[rank]["names"] == ["node", "node", "node~1", "node~1"], told
    for rank in (2, 3):
        assert told[rank]["names"] == ["node~0", "node~0", "node", "node"], told


def test_two_machines_of_two_names(cluster, network):
    told = run_on_two_machines(cluster, network, ["alpha", "beta"])
    for rank in range(4):
        assert told[rank]["names"] == ["alpha", "alpha", "beta", "beta"], told


@pytest.mark.parametrize("version", ["2.4", "2.10"])
def test_parameter_servers(cluster, version):
    """Workers and servers have separate ranks and agents; each role asks for its own host names."""
    cluster.start_scheduler("--worker_num", 3, "--server_num", 2, "--once")
    words = ["--worker_num", 3, "--server_num", 2, "--per_node"]
    agents = {}
    for role, count in (("MS_WORKER", 3), ("MS_PSERVER", 2)):
        agents[role] = cluster.start_agent(role, [*words, "--role", role, "--local_worker_num", count],
                                           [sys.executable, CLIENT, version, 0, count])
    for role, count in (("MS_WORKER", 3), ("MS_PSERVER", 2)):
        agents[role].expect(0, timeout=60)
        told = json.loads(re.search(r"^\{.*\}$", agents[role].output(), re.MULTILINE).group(0))
        assert told["ranks"] == list(range(count)), told
        assert told["nodes"] == 5 and len(told["names"]) == count, told
    cluster.scheduler.expect(0)


def test_a_parameter_server_is_not_taken_for_a_worker(cluster):
    end = start_gateway(cluster, 1)

    async def run():
        with pytest.raises(client.Refused, match="this process was started as MS_WORKER"):
            await client.Process("2.10", end.host, end.port, 0, 1, role="MS_PSERVER").start(retries=1)
    asyncio.run(run())


@pytest.mark.parametrize("version", ["2.4", "2.10"])
def test_parameter_servers_without_an_agent(cluster, version):
    port = start_direct(cluster, 3, "--server_num", 2).port

    async def run():
        lives = [client.whole_life(version, "127.0.0.1", port, ids, len(ids), role=role)
                 for role, ids in (("MS_WORKER", range(3)), ("MS_PSERVER", ["ps0", "ps1"]))]
        return await asyncio.gather(*lives)
    for processes, count in zip(asyncio.run(run()), (3, 2)):
        assert [process.rank for process in processes] == list(range(count))
        assert all(process.nodes == 5 for process in processes)


def test_only_this_machine_reaches_the_gateway(cluster, network):
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 1, host=first.address, netns=first.name)
    command = ["sh", "-c", "echo port $MS_SCHED_PORT; sleep 100"]
    agent = cluster.start_agent("agent", ["--worker_num", 1], command, netns=first.name)
    port = int(agent.expect_said(r"^port (\d+)").group(1))
    probe = ("import socket\ns = socket.create_connection((%r, %d), 5)\ns.settimeout(5)\n"
             "try: print('got', s.recv(1))\nexcept ConnectionError: print('got reset')" % (first.address, port))
    assert re.search("got (b''|reset)", second.run(sys.executable, "-c", probe))
    agent.expect_said("only processes of this machine are served here")


def test_two_ids_of_one_number(cluster):
    port = start_direct(cluster, 2).port

    async def run():
        first = client.Process("2.10", "127.0.0.1", port, "1", 2)
        await first.start()
        second = client.Process("2.10", "127.0.0.1", port, "01", 2)
        with pytest.raises(client.Refused, match='both mean rank 1'):
            await second.start(retries=1)
        first.crash()
    asyncio.run(run())


def test_a_crash_is_reported_within_seconds(cluster, measured):
    """MindSpore's own scheduler notices it only after MS_NODE_TIMEOUT, here 600 s."""
    port = start_direct(cluster, 2).port

    async def run():
        pair = [client.Process("2.7", "127.0.0.1", port, str(i), 2) for i in range(2)]
        await asyncio.gather(*(process.start() for process in pair))
        await asyncio.gather(*(process.form() for process in pair))
        begin = time.monotonic()
        pair[1].crash()
        while not pair[0].abnormal:
            await asyncio.sleep(0.05)
            assert time.monotonic() - begin < 30 * SLOWNESS
        return time.monotonic() - begin
    measured("from the crash to the survivor's knowing", asyncio.run(run()), at_most=5)
    cluster.scheduler.expect_said(r"process of rank 1 .* is dead: its connections broke")


def test_with_recovery_a_process_returns(cluster):
    port = start_direct(cluster, 2, "--enable_recovery", 1).port

    async def run():
        pair = [client.Process("2.10", "127.0.0.1", port, str(i), 2) for i in range(2)]
        await asyncio.gather(*(process.start() for process in pair))
        await asyncio.gather(*(process.form() for process in pair))
        pair[1].crash()
        await asyncio.sleep(3)
        assert pair[0].abnormal == 0
        again = client.Process("2.10", "127.0.0.1", port, "1", 2)
        await again.start()
        assert again.rank == 1
        await asyncio.gather(pair[0].leave(), again.leave())
    asyncio.run(run())


def test_gateway_off(cluster):
    cluster.start_scheduler("--worker_num", 1)
    agent = cluster.start_agent("agent", ["--worker_num", 1, "--mindspore_gateway", "off"],
                                ["sh", "-c", "echo port $MS_SCHED_PORT"])
    agent.expect(0)
    assert "port %d" % cluster.scheduler.port in agent.output()


def test_the_scheduler_is_away(cluster):
    """Keys that were read are still known; other keys are reported missing at once."""
    scheduler = cluster.start_scheduler("--worker_num", 1)
    script = cluster.folder / "away.py"
    script.write_text("""
import asyncio, os, sys, time
sys.path.insert(0, %r)
import mindspore_client as client
async def main():
    process = client.Process("2.10", os.environ["MS_SCHED_HOST"], int(os.environ["MS_SCHED_PORT"]), 0, 1)
    await process.start()
    await process.form()
    await process.write("known", "value")
    assert await process.poll("known") == "value"
    print("ready", flush=True)
    while not os.path.exists("gone"):
        await asyncio.sleep(0.05)
    begin = time.monotonic()
    assert await process.read("known") == "value"
    assert await process.read("unknown") is None
    assert time.monotonic() - begin < 12
    await process.leave()
    print("done", flush=True)
asyncio.run(main())
""" % str(HERE))
    agent = cluster.start_agent("agent", ["--worker_num", 1], [sys.executable, script])
    agent.expect_said("^ready")
    scheduler.send(9)
    scheduler.wait(10)
    (cluster.folder / "gone").touch()
    agent.expect_said("^done", timeout=30)
