"""PyTorch's own clients at the agent's store."""

import os
import signal
import os
import signal
import subprocess

import pytest

from muster import BIN, SCRIPTS
from torch_store_wire import NEW, number, text

USES = SCRIPTS / "uses_the_store.py"
STALE = """
import datetime, os, torch.distributed as dist
store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), 1, False, datetime.timedelta(seconds=60))
assert store.add("starts", 1) == 1, "a key of the processes before is still there"
print("restart", os.environ["MS_RESTART_COUNT"], flush=True)
os._exit(3 if os.environ["MS_RESTART_COUNT"] == "0" else 0)
"""


@pytest.mark.parametrize("ranks", [1, 4, 16] if os.environ.get("MUSTER_LONG") else [4])
def test_everything_on_one_machine(cluster, each_torch, ranks):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", ranks, each_torch, USES])
    agent.expect(0, timeout=120)
    assert agent.output().count("all well") == ranks, agent.output()


def test_everything_on_two_machines(cluster, network, each_torch):
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 4, host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2], [each_torch, USES], netns=machine.name)
              for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0, timeout=120)
        assert agent.output().count("all well") == 2, agent.output()


def test_each_round_has_an_empty_store(cluster, any_torch):
    script = cluster.folder / "stale.py"
    script.write_text(STALE)
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 1, "--enable_recovery",
                                    "--max_restarts", 1, any_torch, script])
    agent.expect(0, timeout=60)
    assert "restart 1" in agent.output(), agent.output()


def test_a_port_in_the_scripts_text_is_served(cluster, network, any_torch):
    machine, _ = network.pair()
    script = cluster.folder / "insists.py"
    script.write_text('import os\nos.environ["MASTER_PORT"] = "29507"\n' + USES.read_text())
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, any_torch, script],
                          netns=machine.name)
    agent.expect(0, timeout=60)
    assert "the script names port 29507: PyTorch's store listens there, too" in agent.output(), agent.output()


def test_another_jobs_store_is_not_taken_for_its_own(cluster, network, any_torch):
    machine, _ = network.pair()
    script = cluster.folder / "insists.py"
    script.write_text('import os\nos.environ["MASTER_PORT"] = "29507"\n' + USES.read_text())
    holds = "import socket, time; s = socket.create_server(('', 29507)); print('held', flush=True); time.sleep(100)"
    cluster.start("holder", ["python3", "-c", holds], netns=machine.name).expect_said("held")
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, any_torch, script],
                          netns=machine.name)
    agent.expect(1, timeout=60)
    assert "rank 0 of a PyTorch job hosts its store itself" in agent.output(), agent.output()
    assert "a port that the script names" in agent.output(), agent.output()


def test_rank0_hosts_it_where_the_script_computes_the_port(cluster, any_torch):
    script = cluster.folder / "computes.py"
    script.write_text('import os\nport = int(os.environ["MASTER_PORT"])\nos.environ["MASTER_PORT"] = str(port)\n' +
                      (SCRIPTS / "all_reduce.py").read_text())
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, any_torch, script])
    agent.expect(0, timeout=60)
    assert "the script computes the port of PyTorch's store" in agent.output(), agent.output()


def test_rank0_hosts_it_where_that_is_asked_for(cluster, any_torch):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--torch_store", "rank0",
                                    any_torch, SCRIPTS / "all_reduce.py"])
    agent.expect(0, timeout=60)
    agent = cluster.start("told", [BIN / "ms-worker", "--standalone", "--local_worker_num", 1, "--torch_store", "rank0",
                                   "sh", "-c", "echo store=$TORCHELASTIC_USE_AGENT_STORE"])
    agent.expect(0)
    assert "store=False" in agent.lines()


HELLO = bytes([NEW.index("validate")]) + b"\xce\xf7\x85\x3c"
ASK = ("import socket,sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10); "
       "s.sendall(bytes.fromhex(sys.argv[3])); print('got', s.recv(8).hex())")


def test_an_unknown_client_is_not_served(cluster, network):
    first, second = network.pair()
    asks = HELLO + bytes([NEW.index("add")]) + text(b"/x") + number(5)

    def ask(*words):
        agent = cluster.start("agent%d" % len(words), [
            BIN / "ms-worker", "--standalone", "--local_worker_num", 1, "--worker_ip", first.address, *words, "sh", "-c",
            "echo port=$MASTER_PORT; exec sleep 60"], netns=first.name)
        agent.expect_said("port=")
        port = [line for line in agent.lines() if line.startswith("port=")][0][5:]
        said = subprocess.run(["ip", "netns", "exec", second.name, "python3", "-c", ASK, first.address, port, asks.hex()],
                              capture_output=True, text=True, timeout=30)
        agent.send(signal.SIGTERM)
        agent.wait(30)
        return said.stdout.strip(), agent.output()

    said, log = ask()
    assert said in ("got", ""), said  # closed, or reset
    assert "--torch_store_peers=%s" % second.address in log, log
    said, _ = ask("--torch_store_peers", second.address + "/32")
    assert said == "got " + number(5).hex()
