"""Acts as MindSpore's processes do towards their scheduler: as recorded on the wire of 2.0.0, 2.7.0, 2.7.1 and 2.10.0, and
as its public sources describe the versions between. Two connections (the one for registration and heartbeats first), one
request at a time, matched by order alone, polling, retries. Standard library only.

As a program (the command of a job): mindspore_client.py VERSION FIRST COUNT, as the processes with MS_NODE_ID FIRST to
FIRST + COUNT - 1 of MS_WORKER_NUM or MS_SERVER_NUM (by MS_ROLE), at MS_SCHED_HOST and MS_SCHED_PORT; in TLS, with the
client.pem and ca.pem of the folder that CLIENT_TLS_FOLDER names."""
import asyncio
import json
import os
import random
import socket
import ssl
import struct
import sys
import time

UNSET_DEVICE = 2**32 - 1


class Version:
    """The differences between versions."""

    def __init__(self, name, there, not_there, connect_pause, sends_device, reads_rank, reads_ports, slow_beats_at=129):
        self.name = name
        self.there = there
        self.not_there = not_there
        self.connect_pause = connect_pause  # after each connect, in seconds
        self.sends_device = sends_device
        self.reads_rank = reads_rank
        self.reads_ports = reads_ports
        self.slow_beats_at = slow_beats_at

    def beat_interval(self, workers):
        return 0.5 if workers < self.slow_beats_at else random.uniform(3, 5)


VERSIONS = {
    "2.1": Version("2.1", "10", "11", 0.5, False, True, True, slow_beats_at=0),
    "2.4": Version("2.4", "10", "11", 0.5, True, True, False),
    "2.7": Version("2.7", "10", "11", 0.5, True, False, False),
    "2.10": Version("2.10", "11", "12", 0, True, False, False),
}


def varint(value):
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if not value:
            return out


def field(number, value):
    """Proto3 leaves out zero and empty values."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value if value else b""


def fields(data):
    """Returns {number: int or bytes}; the last value of a number counts."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            found[key >> 3] = number()
        elif key & 7 == 2:
            size = number()
            found[key >> 3] = data[at : at + size]
            at += size
        else:
            raise ValueError(f"wire type {key & 7}")
    return found


def frame(name, body=b"", to="@127.0.0.1:1", sender="@"):
    parts = [part.encode() if isinstance(part, str) else part for part in (name, to, sender, body)]
    return b"RPC0" + struct.pack(">4I", *map(len, parts)) + b"".join(parts)


async def read_frame(reader):
    header = await reader.readexactly(20)
    assert header[:4] == b"RPC0", header
    name, to, sender, body = struct.unpack(">4I", header[4:])
    data = await reader.readexactly(name + to + sender + body)
    addresses = data[name : name + to + sender]
    assert b"@" in addresses, addresses  # MindSpore would drop it otherwise
    return data[:name].decode(), data[name + to + sender :]


def tls_context(folder, certificate="client.pem"):
    """Like set_ps_context(enable_ssl=True, ...): the server's chain and usage are checked, its name is not."""
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
    context.check_hostname = False
    if certificate:
        context.load_cert_chain(os.path.join(folder, certificate))
    return context


class Connection:
    def __init__(self, host, port, timeout=15, tls=None):
        self.host, self.port, self.timeout, self.tls = host, port, timeout, tls
        self.lock = asyncio.Lock()
        self.slowest = 0.0

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
        return self

    async def ask(self, number, body=b""):
        async with self.lock:
            begin = time.monotonic()
            self.writer.write(frame(str(number), body, f"@{self.host}:{self.port}"))
            await self.writer.drain()
            answer = await asyncio.wait_for(read_frame(self.reader), self.timeout)
            self.slowest = max(self.slowest, time.monotonic() - begin)
            return answer

    async def send(self, number, body):
        """Sends a request that never gets an answer."""
        async with self.lock:
            self.writer.write(frame(str(number), body, f"@{self.host}:{self.port}"))
            await self.writer.drain()

    def close(self):
        self.writer.close()


class Refused(Exception):
    pass


class Process:
    """One MindSpore process."""

    def __init__(self, version, host, port, node_id, workers, role="MS_WORKER", host_name=None, tls=None):
        self.version = VERSIONS[version]
        self.host, self.port, self.node_id, self.workers, self.role = host, port, str(node_id), workers, role
        self.host_name, self.tls = host_name or socket.gethostname(), tls
        self.rank = None
        self.beats = []  # seconds of each
        self.abnormal = 0
        self.names = None
        self.beating = None

    async def start(self, retries=20):
        """Connects and registers; then the heartbeats begin."""
        self.heart = await Connection(self.host, self.port, tls=self.tls).open()
        await asyncio.sleep(self.version.connect_pause)
        self.data = await Connection(self.host, self.port, tls=self.tls).open()
        await asyncio.sleep(self.version.connect_pause)
        body = field(1, self.node_id) + field(2, self.host_name) + field(3, self.role) + field(4, "127.0.0.1")
        if self.version.sends_device:
            body += field(5, UNSET_DEVICE)
        for _ in range(retries):
            name, answer = await self.heart.ask(0, body)
            reply = fields(answer)
            if name == "3" and reply.get(1):
                break
            reason = reply.get(4, b"").decode()
            await asyncio.sleep(0.1)
        else:
            raise Refused(reason)
        self.rank = reply.get(2, 0)
        self.nodes = reply.get(3, 0)
        self.complete = asyncio.Event()
        self.beating = asyncio.create_task(self._beat())

    async def _beat(self):
        while True:
            begin = time.monotonic()
            name, answer = await self.heart.ask(2, field(1, self.node_id))
            self.beats.append(time.monotonic() - begin)
            reply = fields(answer)
            assert name == "3" and reply.get(1) == 1, (name, reply)
            self.abnormal = reply.get(4, 0)
            self.state = reply.get(2, 0)
            if self.state == 1:
                self.complete.set()
            if self.abnormal:
                return
            await asyncio.sleep(self.version.beat_interval(self.workers))

    async def write(self, key, value):
        await self.data.send(6, field(1, key) + field(2, value))

    async def read(self, key):
        """Returns None if the key does not exist."""
        name, answer = await self.data.ask(7, field(1, key))
        if name != self.version.there:  # to a client, every other number means "not there"
            return None
        reply = fields(answer)
        assert reply.get(1, b"").decode() == key, reply
        return reply.get(2, b"").decode(errors="replace")  # port ranges are binary

    async def poll(self, key, tries=30, pause=0.5):
        """(A real one waits three seconds between two tries.)"""
        for _ in range(tries):
            value = await self.read(key)
            if value is not None:
                return value
            await asyncio.sleep(pause)
        raise TimeoutError(f"{key} never came ({self.node_id})")

    async def host_names(self):
        for _ in range(40):
            name, answer = await self.data.ask(9, self.role.encode())
            if name == self.version.there:
                return json.loads(answer)["hostnames"]
            assert json.loads(answer)["hostnames"] == [], answer
            await asyncio.sleep(0.25)
        raise TimeoutError("the host names never came")

    async def form(self, timeout=60):
        """Does what communication.init() does: the rank, the host names, the addresses of the others."""
        await asyncio.wait_for(self.complete.wait(), timeout)
        if self.version.reads_ports:
            assert await self.poll("node_port_range") != ""
        if self.version.reads_rank or not self.node_id.isdigit():
            self.rank = int(await self.poll(self.role + self.node_id))
        elif self.node_id.isdigit():
            self.rank = int(self.node_id)
        prefix = f"MCCL_COLLECTIVE_RANK_{self.role}_"
        await self.write(f"{prefix}{self.rank}", f"10.0.0.1:{10000 + self.rank}")
        # (A real one asks for all, including its own, each once.)
        some = sorted({0, self.rank, (self.rank + 1) % self.workers, self.workers - 1})
        for other in range(self.workers) if self.workers <= 16 else some:
            assert await self.poll(f"{prefix}{other}") == f"10.0.0.1:{10000 + other}"
        self.names = await self.host_names()
        assert len(self.names) == self.workers, (len(self.names), self.workers)
        if self.rank == 0:
            await self.write(f"{self.role}_group_info_mccl_world_group", "unique id of the group")
        else:
            assert await self.poll(f"{self.role}_group_info_mccl_world_group") == "unique id of the group"

    def local_rank(self):
        return sum(1 for name in self.names[: self.rank] if name == self.names[self.rank])

    async def leave(self, tries=20):
        self.beating.cancel()
        async with self.heart.lock:  # a heartbeat in progress is answered first
            pass
        for _ in range(tries):
            name, body = await self.heart.ask(1, field(1, self.node_id))
            if body == b"3":
                assert name == "3", name
                break
            await asyncio.sleep(0.25)
        else:
            raise TimeoutError(f"unregistering was answered {name} {body}")
        self.data.close()
        self.heart.close()

    def crash(self):
        """Acts like kill -9: both sockets are closed, nothing is sent."""
        self.beating.cancel()
        for connection in (self.heart, self.data):
            sock = connection.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.writer.transport.abort()


async def whole_life(version, host, port, ids, workers, at_once=100, **options):
    """Runs all processes of `ids`, from start to end; returns them."""
    gate = asyncio.Semaphore(at_once)
    processes = [Process(version, host, port, node_id, workers, **options) for node_id in ids]

    async def start(process):
        async with gate:
            await process.start()

    await asyncio.gather(*map(start, processes))
    await asyncio.gather(*(process.form() for process in processes))
    await asyncio.gather(*(process.leave() for process in processes))
    return processes


def main(version, first, count):
    host, port = os.environ["MS_SCHED_HOST"], int(os.environ["MS_SCHED_PORT"])
    role = os.environ.get("MS_ROLE", "MS_WORKER")
    first, count = int(first), int(count)
    members = int(os.environ["MS_SERVER_NUM" if role == "MS_PSERVER" else "MS_WORKER_NUM"])
    folder = os.environ.get("CLIENT_TLS_FOLDER")
    processes = asyncio.run(whole_life(version, host, port, range(first, first + count), members, role=role,
                                       tls=tls_context(folder) if folder else None))
    print(json.dumps({"ranks": sorted(p.rank for p in processes),
                      "local": {p.rank: p.local_rank() for p in processes},
                      "names": processes[0].names if members <= 16 else [], "nodes": processes[0].nodes,
                      "slowest_beat_ms": round(1000 * max(max(p.beats) for p in processes), 1)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3])
