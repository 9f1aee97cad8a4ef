"""PyTorch's own clients at the agent's store, through the agents of their own machines (--torch_store_relay)."""

import os
import re
import signal
import subprocess

import pytest

from muster import SCRIPTS, eventually
from torch_store_wire import NEW, number, text

USES = SCRIPTS / "uses_the_store.py"
LOOPS = """
import datetime, os, time
import torch.distributed as dist
size, times = int(os.environ["WORLD_SIZE"]), 1000
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), None, False)
print("goes", flush=True)
seen = 0
for i in range(times):
    seen = store.add("sum", 1)
    time.sleep(0.002)
dist.barrier()
assert store.add("sum", 0) == size * times, store.add("sum", 0)
dist.barrier()
print("counted", flush=True)
"""
SECOND = """
import datetime, os, sys
import torch.distributed as dist
rank, size, where = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ[sys.argv[1]]
patience = datetime.timedelta(seconds=60)
dist.init_process_group("gloo", timeout=patience)
port = [None]
if rank == 0:
    own = dist.TCPStore(where, 0, size, True, patience, False)
    port = [own.port]
dist.broadcast_object_list(port)
second = own if rank == 0 else dist.TCPStore(where, port[0], size, False, patience, False)
second.set("of/%d" % rank, str(rank))
assert [second.get("of/%d" % other) for other in range(size)] == [b"%d" % other for other in range(size)]
dist.barrier()
print("second well", flush=True)
"""
HELLO = bytes([NEW.index("validate")]) + b"\xce\xf7\x85\x3c" + bytes([NEW.index("add")]) + text(b"/x") + number(5)
ASK = """
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
s.sendall(bytes.fromhex(sys.argv[3]))
try:
    print("got", s.recv(8).hex())
except ConnectionError:
    print("got")
"""
LINK = ["not", "dst", "127.0.0.1", "and", "dport", "="]
SAID = re.compile(r"reach PyTorch's store at MASTER_ADDR=127\.0\.0\.1 and MASTER_PORT=(\d+)")


@pytest.fixture
def machines(network):
    return network.pair()


@pytest.fixture(params=["plain", "tls"])
def start(request, cluster, machines):
    """Starts the scheduler, and with each call an agent on each machine that runs the command."""
    if request.param == "plain":
        cluster.start_scheduler("--worker_num", 4, host=machines[0].address, netns=machines[0].name)

        def plain(command, *words):
            return [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2, "--torch_store_relay", *words], command,
                                        netns=machine.name) for i, machine in enumerate(machines)]
        return plain
    secured = request.getfixturevalue("secured")
    folder = secured.folder("scheduler", server=secured.authority.scheduler(hosts=[machines[0].address]),
                            client=secured.authority.admin())
    cluster.start_scheduler("--tls_config", folder.config, "--worker_num", 4, host=machines[0].address,
                            netns=machines[0].name)

    def over_tls(command, *words):
        return [secured.start_node("agent%d" % i, command, "--require_tls", "--local_worker_num", 2, *words,
                                   netns=machine.name) for i, machine in enumerate(machines)]
    return over_tls


def test_everything_through_relays(start, each_torch):
    for agent in start([each_torch, USES]):
        agent.expect(0, timeout=120)
        assert agent.output().count("all well") == 2, agent.output()
        assert agent.output().count("reach PyTorch's store at") == 1, agent.output()


@pytest.mark.parametrize("ranks", [1, 8] if os.environ.get("MUSTER_LONG") else [1])
def test_few_and_many_on_each_machine(cluster, machines, each_torch, ranks):
    cluster.start_scheduler("--worker_num", 2 * ranks, host=machines[0].address, netns=machines[0].name)
    for agent in [cluster.start_agent("agent%d" % i, ["--local_worker_num", ranks, "--torch_store_relay"],
                                      [each_torch, USES], netns=machine.name) for i, machine in enumerate(machines)]:
        agent.expect(0, timeout=120)
        assert agent.output().count("all well") == ranks, agent.output()


def ask(machine, address, port):
    return subprocess.run(["ip", "netns", "exec", machine.name, "python3", "-c", ASK, address, str(port), HELLO.hex()],
                          capture_output=True, text=True, timeout=30).stdout.strip()


def test_no_store_is_open_to_another_machine(start, machines):
    agents = start(["sh", "-c", "echo told $MASTER_ADDR $MASTER_PORT $MUSTER_RANK0_ADDR {master_addr}; exec sleep 60"])
    answer = number(5).hex()
    answers = set()
    for agent, own, other in zip(agents, machines, reversed(machines)):
        agent.expect_said("told")
        port = SAID.search(agent.output()).group(1)
        told = [line for line in agent.output().splitlines() if "told " in line][0].split("told ")[1].split()
        assert told[:2] == ["127.0.0.1", port] and told[2] == told[3] and told[2] in [m.address for m in machines], told
        answers.add(ask(own, "127.0.0.1", port))
        if told[2] == own.address:  # this is the store itself
            assert ask(other, own.address, port) == "got"
        else:
            assert ask(other, own.address, port) == ""  # it listens on loopback only
# One store serves both.
    assert answers == {
    "got " + answer, "got " + number(10).hex()
  }
    for agent in agents:
        agent.send(signal.SIGTERM)
    for agent in agents:
        agent.wait(30)


def test_what_is_counted_is_counted_once_though_the_link_is_cut(start, cluster, machines, any_torch):
    script = cluster.folder / "loops.py"
    script.write_text(LOOPS)
    agents = start([any_torch, script])
    for agent in agents:
        agent.expect_said("goes", timeout=60)
    port = next(SAID.search(agent.output()).group(1) for agent in agents
                if "rank 0]" in agent.output())
    cuts = 0
    for _ in range(5):
        eventually(lambda: any("ESTAB" in machine.run("ss", "-tn", *LINK, port) for machine in machines), 10, "a link")
        cuts += sum(machine.run("ss", "-K", "-tn", *LINK, port).count("ESTAB") for machine in machines)
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("counted") == 2, agent.output()
    assert cuts >= 5


@pytest.mark.parametrize("start", ["plain"], indirect=True)
def test_a_second_store_on_rank_0s_machine(start, cluster, any_torch):
    script = cluster.folder / "second.py"
    script.write_text(SECOND)
    for agent in start([any_torch, script, "MUSTER_RANK0_ADDR"]):
        agent.expect(0, timeout=60)
        assert agent.output().count("second well") == 2, agent.output()


def test_a_second_store_without_relays(cluster, machines, any_torch):
    script = cluster.folder / "second.py"
    script.write_text(SECOND)
    cluster.start_scheduler("--worker_num", 4, host=machines[0].address, netns=machines[0].name)
    for agent in [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2], [any_torch, script, "MASTER_ADDR"],
                                      netns=machine.name) for i, machine in enumerate(machines)]:
        agent.expect(0, timeout=60)
        assert agent.output().count("second well") == 2, agent.output()
