"""A cluster at --mindspore_port: how it ends, which processes count as alive, and what one client can do to the log."""
import asyncio
import contextlib
import socket
import time

import mindspore_client as client
from mindspore_ends import start_direct
from muster import BIN, SLOWNESS


async def formed(port, version="2.10"):
    pair = [client.Process(version, "127.0.0.1", port, str(i), 2) for i in range(2)]
    await asyncio.gather(*(process.start() for process in pair))
    await asyncio.gather(*(process.form() for process in pair))
    return pair


def test_once_ends_well(cluster):
    """It takes longer than MS_TOPO_TIMEOUT, during which no agent comes."""
    end = start_direct(cluster, 2, "--once", "--topo_timeout", 3)

    async def run():
        pair = await formed(end.port)
        await asyncio.sleep(5)
        await asyncio.gather(*(process.leave() for process in pair))
    asyncio.run(run())
    end.program.expect(0, timeout=20)


def test_once_ends_with_a_failure(cluster):
    end = start_direct(cluster, 2, "--once")

    async def run():
        pair = await formed(end.port)
        pair[1].crash()
        while not pair[0].abnormal:
            await asyncio.sleep(0.05)
        pair[0].crash()
    asyncio.run(asyncio.wait_for(run(), 60))
    end.program.expect(1, timeout=20)


def test_once_without_any_node(cluster):
    start_direct(cluster, 2, "--once", "--topo_timeout", 1).program.expect(12, timeout=20)


def test_with_recovery_new_ids_begin_a_new_cluster(cluster):
    port = start_direct(cluster, 2, "--enable_recovery", 1).port

    async def run():
        for process in await formed(port):
            process.crash()
        await asyncio.sleep(3)
        pair = [client.Process("2.10", "127.0.0.1", port, name, 2) for name in ("uuid-c", "uuid-d")]
        await asyncio.gather(*(process.start(retries=100) for process in pair))
        await asyncio.gather(*(process.form() for process in pair))
        await asyncio.gather(*(process.leave() for process in pair))
    asyncio.run(asyncio.wait_for(run(), 60 * SLOWNESS))


def test_one_client_does_not_fill_the_log(cluster):
    end = start_direct(cluster, 1)
    with socket.create_connection((end.host, end.port)) as sock:
        refused = client.frame("0", client.field(1, "x") + client.field(3, "BAD"))
        stranger = client.frame("6", client.field(1, "k") + client.field(2, "v"))
        sock.sendall(client.frame("0", client.field(1, "0") + client.field(3, "MS_WORKER")))
        sock.sendall((client.frame("6", client.field(1, "k" * 2000) + client.field(2, "v")) + refused + stranger) * 300)
        sock.settimeout(20 * SLOWNESS)
        answers = b""
        while answers.count(b"BAD") < 300:
            answers += sock.recv(1 << 16)
    time.sleep(1)
    assert end.program.output().count("MindSpore") < 20, end.program.tail()


def test_a_taken_port_is_reported_with_its_holder(cluster):
    first = start_direct(cluster, 1)
    second = cluster.start("second", [BIN / "ms-scheduler", "--sched_host", "127.0.0.1", "--sched_port", "0",
                                      "--worker_num", "1", "--mindspore_port", str(first.port)])
    second.expect(2)
    assert f"held by ms-scheduler (pid {first.program.pid}" in second.output(), second.tail()
    assert "choose another one with --mindspore_port" in second.output(), second.tail()


def test_idle_connections_do_not_shut_the_others_out(cluster):
    """Each has sent one harmless message."""
    end = start_direct(cluster, 1)
    crowd = []
    for _ in range(400):
        crowd.append(socket.create_connection((end.host, end.port), 5))
        with contextlib.suppress(OSError):  # one connection too many
            crowd[-1].sendall(client.frame("9", b"MS_WORKER"))
    time.sleep(2)
    asyncio.run(client.whole_life("2.7", end.host, end.port, [0], 1))
    for sock in crowd:
        sock.close()
