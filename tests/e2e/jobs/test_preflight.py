"""Checks of hosts before the start, and ms-ctl preflight. The hosts are files."""

import json

import pytest

from muster import EXIT_REFUSED

EXIT_USAGE = 2
TRAIN = ["sh", "-c", "echo trains"]


class Host:
    """An Ascend 910 server with eight devices and a working network."""

    def __init__(self, root, number):
        self.root = root
        self.number = number
        self.env = {"MUSTER_HOST_ROOT": str(root)}
        for name, text in {
                "proc/net/tcp": "  sl  local_address rem_address   st\n", "proc/meminfo": "MemAvailable: 99999999 kB\n",
                "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
                "proc/sys/net/ipv4/ip_local_reserved_ports": "60000-60015\n",
                "proc/sys/net/ipv4/tcp_max_syn_backlog": "4096\n", "proc/sys/net/core/somaxconn": "4096\n",
                "sys/class/net/lo/mtu": "1500\n", "driver/version.info": "Version=23.0.3\n", "dev/shm/.keep": "",
                "dev/davinci_manager": "", "dev/devmm_svm": "", "dev/hisi_hdc": "",
                "sys/bus/pci/devices/0000:61:00.0/vendor": "0x19e5\n",
                "sys/bus/pci/devices/0000:61:00.0/device": "0xd801\n"}.items():
            self.write(name, text)
        for device in range(8):
            self.write("dev/davinci%d" % device, "")
            self.write("bin/%d-tls" % device, "dev_id:%d, tls switch[0](0:disable, 1:enable)\n" % device)
            self.write("bin/%d-net_health" % device, "net health status: Success\n")
            self.write("bin/%d-lldp" % device, "Chassis ID TLV\n")
        self.set_addresses("192.168.%d.%d" % (100 + device % 4, 10 * number + device + 1) for device in range(8))
        self.write("bin/hccn_tool", "#!/bin/sh\nexec cat \"${0%/*}/$2$3\"\n").chmod(0o755)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def set_addresses(self, addresses):
        self.write("etc/hccn.conf", "".join("address_%d=%s\nnetmask_%d=255.255.255.0\n" % (i, address, i)
                                            for i, address in enumerate(addresses)))

    def start(self, cluster, *words, command=TRAIN, preflight="host"):
        name = "n%d" % self.number
        return cluster.start_agent(name, ["--worker_num", 2, "--node_id", name, "--machine", name, "--preflight",
                                          preflight, *words], command, env=self.env)


@pytest.fixture
def hosts(cluster):
    return [Host(cluster.folder / ("host%d" % number), number) for number in range(2)]


def test_hosts_that_are_well_start_without_a_word_and_are_shown(cluster, hosts):
    scheduler = cluster.start_scheduler("--worker_num", 2)
    hosts[1].write("sys/class/net/lo/mtu", "9000\n")
    agents = [host.start(cluster, command=["sh", "-c", "echo trains; sleep 100"]) for host in hosts]
    for agent in agents:
        agent.expect_said("trains", 30)
        assert "preflight:" not in agent.output(), agent.output()
    scheduler.expect_said("WARNING.* same_mtu: the MTU is 9000 on n1, but 1500 on n0")
    shown = cluster.ctl("preflight")
    lines = shown.splitlines()
    assert lines[0].split()[:3] == ["NODE", "HOST", "clock"] and "segments" in lines[0], shown
    assert [line.split()[0] for line in lines[1:3]] == ["n0", "n1"], shown
    assert "error" not in shown and "between nodes: warning: same_mtu: the MTU is 9000 on n1" in shown, shown
    job, = json.loads(cluster.ctl("preflight", "--json"))["jobs"]
    assert [node["facts"]["driver"] for node in job["nodes"]] == ["23.0.3", "23.0.3"]
    assert {"check": "device_tls", "level": "ok", "text": "off", "remedy": ""} in job["nodes"][0]["checks"]
    assert all(abs(int(node["facts"]["clock"])) < 30000 for node in job["nodes"]), "ahead of the scheduler's, in ms"
    levels = {one["check"]: one["level"] for one in job["between_nodes"]}
    assert levels["unique_addresses"] == levels["same_segments"] == levels["clocks"] == "ok", levels
    assert levels["same_mtu"] == "warning"


def test_a_host_that_is_not_well_does_not_join(cluster, hosts):
    scheduler = cluster.start_scheduler("--worker_num", 2)
    hosts[0].write("bin/3-tls", "dev_id:3, tls switch[1](0:disable, 1:enable)\n")
    agent = hosts[0].start(cluster, "--per_node")  # its process may use all devices
    agent.expect(EXIT_REFUSED)
    assert "preflight: device_tls: TLS is on for device 3 and off for devices 0, 1" in agent.output(), agent.output()
    assert "hccn_tool -i 3 -tls -s enable 0" in agent.output()
    assert "this host is not fit for the job: 1 check has failed" in agent.our_lines()[-1]
    assert "n0" not in scheduler.output()


def test_a_host_that_does_not_fit_the_others_is_turned_away(cluster, hosts):
    cluster.start_scheduler("--worker_num", 2)
    hosts[1].set_addresses("192.168.%d.%d" % (100 + device % 4, device + 1) for device in range(8))
    first = hosts[0].start(cluster)
    first.expect_said("joined job")
    second = hosts[1].start(cluster)
    second.expect(EXIT_REFUSED)
    assert "of node n1 and device 0 of node n0 both have the address 192.168.100.1" in second.output(), second.output()
    hosts[1].set_addresses("192.168.%d.%d" % (100 + device % 4, device + 11) for device in range(8))
    second = hosts[1].start(cluster, preflight="host")
    for agent in (first, second):
        agent.expect(0)


def test_a_node_that_does_not_set_the_devices_ports_like_the_others_is_turned_away(cluster, hosts):
    cluster.start_scheduler("--worker_num", 2)
    first = hosts[0].start(cluster, "--env", "HCCL_NPU_SOCKET_PORT_RANGE=61000-61050")
    first.expect_said("joined job")
    second = hosts[1].start(cluster)
    second.expect(EXIT_REFUSED)
    assert "HCCL_NPU_SOCKET_PORT_RANGE is not set on n1, but a range on n0" in second.output(), second.output()
    second = hosts[1].start(cluster, "--env", "HCCL_NPU_SOCKET_PORT_RANGE=62000")
    for agent in (first, second):
        agent.expect(0)


@pytest.mark.parametrize("variable", ["HCCL_HOST_SOCKET_PORT_RANGE", "HCCL_NPU_SOCKET_PORT_RANGE"])
def test_a_range_that_hccl_would_refuse_is_an_error_at_once(cluster, hosts, variable):
    cluster.start_scheduler("--worker_num", 2)
    agent = hosts[0].start(cluster, "--env", variable + "=61050-61000")
    agent.expect(EXIT_USAGE)
    assert variable + ' is "61050-61000", but HCCL takes auto, or ports' in agent.output(), agent.output()


def test_warnings_can_be_fatal_and_the_ring_is_checked_too(cluster, hosts):
    cluster.start_scheduler("--worker_num", 2)
    hosts[0].write("sys/class/net/lo/mtu", "1280\n")
    agent = hosts[0].start(cluster, "--preflight_fatal", "warning", preflight="host,ring")
    agent.expect(EXIT_REFUSED)
    assert "mtu: the MTU of lo is 1280, but should be 1500 or more; ip link set lo mtu 1500" in agent.output()
    agents = [host.start(cluster, preflight="host,ring") for host in hosts]
    for agent in agents:
        agent.expect(0, 60)
    said = "\n".join(agent.output() for agent in agents)
    assert said.count("ring of 2 ranks on 2 machines without TLS: good") == 1, said
    assert "preflight: mtu:" in said
