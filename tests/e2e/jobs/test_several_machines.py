"""Two machines with Debian's hosts file, which maps a host's own name to 127.0.1.1: the addresses that peers and
collectives get."""

import pytest

from muster import BIN, EXIT_REFUSED, SCRIPTS

REDUCE = SCRIPTS / "all_reduce.py"
AS_HOST = 'hostname "$0" && exec "$@"'
TOLD = ["sh", "-c", "echo told=$MASTER_ADDR,${GLOO_SOCKET_IFNAME:--},${TP_SOCKET_IFNAME:--},${NCCL_SOCKET_IFNAME:--},"
        "${HCCL_SOCKET_IFNAME:--}"]


@pytest.fixture
def hosts(cluster, network):
    """Starts ms-worker on node1 or node2, each with its own name and hosts file."""
    made = network.pair()
    for i, machine in enumerate(made):
        machine.set_hosts("127.0.0.1 localhost\n127.0.1.1 node%d\n%s node%d\n" % (i + 1, made[1 - i].address, 2 - i))

    def start(number, *words, command=TOLD):
        return cluster.start("node%d" % number, ["unshare", "--uts", "sh", "-c", AS_HOST, "node%d" % number,
                                                 BIN / "ms-worker", "--sched_host", "node1", "--worker_num", 2, *words,
                                                 "--", *command], netns=made[number - 1].name)
    start.machines = made
    return start


def test_gloo_works_from_one_line_on_each(hosts, any_torch):
    agents = [hosts(number, "--with_scheduler", command=[any_torch, REDUCE]) for number in (1, 2)]
    for number, agent in enumerate(agents, start=1):
        agent.expect(0, timeout=90)
        here = "10.77.1.%d" % number
        assert "sum=3 master=10.77.1.1 scheduler=%s interface=eth0" % here in agent.output(), agent.output()


def test_a_loopback_worker_ip_is_refused_with_the_remedy(cluster, network):
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 2, host=first.address, netns=first.name)
    wrong = cluster.start_agent("wrong", ["--worker_ip", "127.0.0.1"], TOLD, netns=first.name)
    wrong.expect_said("joined job")
    other = cluster.start_agent("other", [], TOLD, netns=second.name)
    wrong.expect(EXIT_REFUSED)
    assert "127.0.0.1 (--worker_ip) reaches only its own machine" in wrong.output(), wrong.output()
    assert "with --worker_ip ADDRESS" in wrong.output(), wrong.output()
    other.expect_said("it was refused: .*--worker_ip ADDRESS", timeout=30)
    right = cluster.start_agent("right", [], TOLD, netns=first.name)
    assert told([right, other]) == [first.address + ",eth0,eth0,-,-"] * 2


def told(agents):
    found = []
    for agent in agents:
        agent.expect(0)
        found += [line.split("told=")[1] for line in agent.lines() if "told=" in line]
    return found


def test_a_second_address_is_warned_of(hosts):
    machine = hosts.machines[0]
    machine.ip("addr", "add", "10.77.9.1/24", "dev", "eth0")
    first = hosts(1, "--with_scheduler", "--worker_ip", "10.77.9.1")
    second = hosts(2)
    assert [line.split(",", 1)[1] for line in told([first, second])] == ["-,-,-,-", "eth0,eth0,-,-"]
    assert first.output().count("10.77.9.1 is not the first one of interface eth0") == 1, first.output()
    assert "--worker_ip 10.77.1.1" in first.output(), first.output()


def test_a_label_is_an_interface_of_its_own(hosts):
    machine = hosts.machines[0]
    machine.ip("addr", "add", "10.77.9.1/24", "dev", "eth0", "label", "eth0:1")
    first = hosts(1, "--with_scheduler", "--worker_ip", "10.77.9.1")
    second = hosts(2)
    assert [line.split(",", 1)[1] for line in told([first, second])] == ["eth0:1,eth0:1,-,-", "eth0,eth0,-,-"]


def test_an_address_on_no_interface_is_warned_of(hosts):
    first = hosts(1, "--with_scheduler", "--worker_ip", "192.0.2.7")
    second = hosts(2)
    assert [line.split(",", 1)[1] for line in told([first, second])] == ["-,-,-,-", "eth0,eth0,-,-"]
    assert "192.0.2.7 is on no interface of this machine" in first.output(), first.output()


def test_what_the_user_set_stays(hosts):
    first = hosts(1, "--with_scheduler", "--env", "GLOO_SOCKET_IFNAME=lo")
    second = hosts(2)
    assert [line.split(",", 1)[1] for line in told([first, second])] == ["lo,-,-,-", "eth0,eth0,-,-"]


def test_v6_only(cluster, network):
    first, second = network.pair(v6=True)
    cluster.start_scheduler("--once", "--worker_num", 2, host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2], TOLD, netns=machine.name)
              for i, machine in enumerate((first, second))]
    assert told(agents) == ["%s,eth0,eth0,-,-" % first.address] * 2


def test_a_host_name_that_leads_there_needs_no_interface(hosts):
    for i, machine in enumerate(hosts.machines, start=1):
        machine.set_hosts("127.0.0.1 localhost\n10.77.1.1 node1\n10.77.1.2 node2\n")
    agents = [hosts(1, "--with_scheduler"), hosts(2)]
    assert told(agents) == ["10.77.1.1,-,-,-,-"] * 2
