"""ms-worker --check: what it finds before a node joins. The hosts are files."""

import re
import sys

import pytest

from test_preflight import Host

CHECK_FAILED = 1
ALL_WELL = 0


@pytest.fixture
def host(cluster):
    return Host(cluster.folder / "host", 0)


def check(cluster, host, *words, command=("sh", "-c", "true"), port=None, name="check", kind="Ascend"):
    """Runs ms-worker --check; returns its exit code and its rows: check → (level, text with the remedy)."""
    if kind == "CPU":
        words = ["--devices", "none", *words]
    scheduler = ["--sched_port", port] if port else []
    agent = cluster.start_agent(name, ["--check", "--worker_num", 2, *scheduler, *words], list(command), env=host.env)
    code = agent.wait(60)
    rows, last = {}, None
    for line in agent.output().splitlines():
        found = re.match(r"(\w+) +(ok|warning|error|not_checked|unknown) +(.*)", line)
        if found:
            last = found.group(1)
            rows[last] = (found.group(2), found.group(3))
        elif last and line.startswith(" "):
            rows[last] = (rows[last][0], rows[last][1] + " / " + line.strip())
    return code, rows, agent.output()


def test_a_node_that_is_well(cluster, host):
    cluster.start_scheduler("--worker_num", 2)
    code, rows, output = check(cluster, host, kind="CPU")
    assert code == ALL_WELL, output
    assert {level for level, _ in rows.values()} <= {"ok", "not_checked", "unknown", "warning"}, output
    assert {"settings", "command", "name", "tcp", "clock", "memory", "space"} <= set(rows), output
    assert "joined" not in output and "joined" not in cluster.scheduler.output()


# name: (change of the host, further words, the row, its level, what text and remedy say)
FAULTS = {
    "no_scheduler": (None, ["--sched_port", "29998"], "tcp", "error", "start ms-scheduler"),
    "unknown_name": (None, ["--sched_host", "no-such-host.invalid"], "name", "error", "no-such-host.invalid"),
    "backlog": (("proc/sys/net/core/somaxconn", "1\n"), [], "backlog", "warning", "sysctl -w net.core.somaxconn=65535"),
    "mtu": (("sys/class/net/lo/mtu", "1280\n"), ["--worker_ip", "127.0.0.1"], "mtu", "warning", "ip link set lo mtu 1500"),
    "memory": (("proc/meminfo", "MemAvailable: 1000 kB\n"), [], "memory", "error", "ps aux"),
    "master_port": (("proc/net/tcp", "  sl  local_address rem_address   st\n"
                     "   0: 0100007F:7530 00000000:0000 0A\n"),
                    ["--torch_master_addr", "127.0.0.1", "--torch_master_port", "30000"], "job_ports", "warning",
                    "30000: a program listens there"),
    "node_check": (None, ["--preflight", "command", "--node_check", "echo GPU 3 is bad; exit 1"], "node_check", "error",
                   "GPU 3 is bad"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_remedy(cluster, host, fault):
    change, words, row, level, text = FAULTS[fault]
    if fault not in ("no_scheduler", "unknown_name"):
        cluster.start_scheduler("--worker_num", 2)
    if change:
        host.write(*change)
    port = None if cluster.scheduler or "--sched_port" in words else 29998
    words = words if cluster.scheduler or "--sched_host" in words else ["--sched_host", "127.0.0.1", *words]
    code, rows, output = check(cluster, host, *words, port=port, kind="CPU")
    assert row in rows and rows[row][0] == level and text in rows[row][1], output
    assert code == (CHECK_FAILED if level == "error" else ALL_WELL), output


ASCEND = {
    "device_tls": (("bin/3-tls", "dev_id:3, tls switch[1](0:disable, 1:enable)\n"), "hccn_tool -i 3 -tls -s enable 0"),
    "hccl_ports": (("proc/net/tcp", "  sl  local_address rem_address   st\n   0: 0100007F:EA61 00000000:0000 0A\n"),
                   "60001: a program listens there"),
    "device_files": (None, "hisi_hdc"),
}


@pytest.mark.parametrize("row", ASCEND)
def test_a_fault_of_the_devices_is_named(cluster, host, row):
    change, text = ASCEND[row]
    cluster.start_scheduler("--worker_num", 2)
    if change:
        host.write(*change)
    else:
        (host.root / "dev/hisi_hdc").unlink()
    code, rows, output = check(cluster, host, "--per_node")  # its process may use all devices
    assert rows[row][0] == "error" and text in rows[row][1], output
    assert code == CHECK_FAILED


@pytest.mark.parametrize("command, text", [(["no-such-program"], "no-such-program"),
                                           ([sys.executable, "no_such_script.py"], "no_such_script.py")])
def test_a_command_that_cannot_start_is_named(cluster, host, command, text):
    cluster.start_scheduler("--worker_num", 2)
    code, rows, output = check(cluster, host, command=command, kind="CPU")
    assert rows["command"][0] == "error" and text in rows["command"][1], output
    assert code == CHECK_FAILED


def test_standalone_needs_no_scheduler(cluster, host):
    code, rows, output = check(cluster, host, "--standalone", "--local_worker_num", 2, port=29998, kind="CPU")
    assert rows["scheduler"] == ("ok", "this agent starts it (--standalone)"), output
    assert code == ALL_WELL
