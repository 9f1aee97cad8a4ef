"""Which devices processes get, which process holds them, and what a device's software has logged. The devices are
files."""

import json
import os
import signal

import pytest

from muster import EXIT_REFUSED

PRINT = ["sh", "-c", "echo rank=$RANK device=$DEVICE_ID visible=$ASCEND_RT_VISIBLE_DEVICES"]


@pytest.fixture
def host(cluster):
    """A host with eight Ascend devices, four at each NUMA node; its variables."""
    root = cluster.folder / "host"
    (root / "dev").mkdir(parents=True)
    for number in range(8):
        (root / "dev" / ("davinci%d" % number)).touch()
        place = root / "sys/class/devdrv-class" / ("davinci%d" % number) / "device"
        place.mkdir(parents=True)
        (place / "numa_node").write_text("%d\n" % (number // 4))
    for node in range(2):
        place = root / "sys/devices/system/node" / ("node%d" % node)
        place.mkdir(parents=True)
        (place / "cpulist").write_text("%d\n" % node)
    return {"MUSTER_HOST_ROOT": str(root)}


def start(cluster, host, name, words, command, **env):
    return cluster.start(name, ["ms-worker", "--standalone", *words, "--", *command], env={**host, **env})


def test_each_process_gets_a_device(cluster, host):
    agent = start(cluster, host, "agent", ["--devices", "6-7", "--local_worker_num", "auto"], PRINT)
    agent.expect(0)
    for rank in range(2):
        assert "rank=%d device=%d visible=6,7" % (rank, rank) in agent.output(), agent.output()
    agent = start(cluster, host, "first", ["--devices", "auto"], PRINT)
    agent.expect(0)
    assert agent.output().count("8 Ascend devices found, 1 used") == 1, agent.output()
    assert "rank=0 device=0 visible=0" in agent.output()
    agent = start(cluster, host, "few", ["--devices", "auto", "--local_worker_num", "9"], PRINT)
    agent.expect(2)
    assert "8 Ascend devices found, but this node runs 9 processes" in agent.output()


def test_without_the_setting_only_their_number_is_said(cluster, host):
    agent = start(cluster, host, "agent", [], PRINT)
    agent.expect(0)
    assert "8 Ascend devices found, 1 used" in agent.output()
    assert "rank=0 device=0 visible=\n" in agent.output()


def test_a_device_that_another_job_has_is_refused_by_name_until_it_ends(cluster, host):
    holder = start(cluster, host, "holder", ["--job_id", "digits", "--devices", "2-3", "--local_worker_num", "2"],
                   ["sh", "-c", "echo started; sleep 100"])
    holder.expect_said("started")
    second = start(cluster, host, "second", ["--job_id", "words", "--devices", "3"], PRINT)
    second.expect(EXIT_REFUSED)
    assert "device 3 is used by job digits (pid %d" % holder.pid in second.output(), second.output()
    start(cluster, host, "beside", ["--job_id", "words", "--devices", "4"], PRINT).expect(0)
    holder.send(signal.SIGKILL)
    holder.wait(10)
    start(cluster, host, "after", ["--job_id", "words", "--devices", "3"], PRINT).expect(0)


@pytest.mark.skipif(os.cpu_count() < 2, reason="one CPU")
def test_processes_are_bound_to_the_cpus_at_their_device(cluster, host):
    show = ["python3", "-c", "import os; print('cpus', sorted(os.sched_getaffinity(0)))"]
    agent = start(cluster, host, "agent", ["--devices", "3-4", "--local_worker_num", "2", "--bind_core", "device"], show)
    agent.expect(0)
    assert "cpus [0]" in agent.output() and "cpus [1]" in agent.output(), agent.output()


def test_a_cause_of_death_names_what_the_device_logged(cluster, host):
    script = ("d=$ASCEND_PROCESS_LOG_PATH/debug/plog; mkdir -p $d; "
              "echo '[ERROR] HCCL(1): link down' > $d/plog-$$_1.log; exit 3")
    logs = cluster.folder / "plogs"
    agent = start(cluster, host, "agent", ["--local_worker_num", "2", "--log_dir", str(cluster.folder / "logs")],
                  ["sh", "-c", script], ASCEND_PROCESS_LOG_PATH=str(logs))
    agent.expect(3)
    assert "device log %s/debug/plog/plog-" % logs in agent.output(), agent.output()
    assert "[ERROR] HCCL(1): link down" in agent.output()
    failure = json.loads(next((cluster.folder / "logs").rglob("failure.json")).read_text())
    assert "link down" in json.dumps(failure)
    alone = start(cluster, host, "alone", [], ["sh", "-c", script], ASCEND_PROCESS_LOG_PATH=str(logs))
    alone.expect(3)
    assert "[ERROR] HCCL(1): link down" in alone.output(), alone.output()
