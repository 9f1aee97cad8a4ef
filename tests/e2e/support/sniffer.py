"""Records the packets on a cable, and analyses the record: TCP streams, and whether all of a stream is TLS.

As a program (in the network namespace of the interface): sniffer.py INTERFACE FILE, until SIGTERM."""

import signal
import socket
import struct
import sys

ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
SOL_PACKET, PACKET_STATISTICS = 263, 6
TLS_RECORDS = (20, 21, 22, 23)  # change cipher spec, alert, handshake, application data
LARGEST_RECORD = 16384 + 256


def record(interface, path):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    sock.bind((interface, 0))
    is_over = []
    signal.signal(signal.SIGTERM, lambda *_: is_over.append(True))
    sock.settimeout(0.1)
    print("recording", flush=True)
    with open(path, "wb") as file:
        while True:
            try:
                frame = sock.recv(256 * 1024)
            except TimeoutError:
                if is_over:
                    break
                continue
            file.write(struct.pack(">I", len(frame)) + frame)
    _, dropped = struct.unpack("II", sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    print("dropped %d" % dropped, flush=True)


def frames(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 4 + size]
        at += 4 + size


class Stream:
    """One direction of a TCP connection."""

    def __init__(self, source, target):
        self.source, self.target = source, target  # (address, port)
        self.first = None
        self.parts = {}  # offset from the first byte: bytes

    def add(self, sequence, is_first, payload):
        if is_first:
            self.first = (sequence + 1) & 0xFFFFFFFF
        if payload:
            offset = (sequence - self.first) & 0xFFFFFFFF
            if len(payload) > len(self.parts.get(offset, b"")):
                self.parts[offset] = payload

    def data(self):
        out = b""
        for offset in sorted(self.parts):
            assert offset <= len(out), "a part of %s is missing" % self
            out += self.parts[offset][len(out) - offset :]
        return out

    def __str__(self):
        return "%s:%d to %s:%d" % (*self.source, *self.target)


def packets(path):
    """Yields (protocol, its part of the packet, source and target with their ports) of all TCP and UDP in IPv4; fails
    if anything else crosses."""
    for frame in frames(path):
        if frame[12:14] != b"\x08\x00":  # ARP and IPv6's neighbour discovery
            continue
        header = (frame[14] & 15) * 4
        (size,) = struct.unpack_from(">H", frame, 16)
        ip = frame[14 : 14 + size]
        assert ip[9] in (socket.IPPROTO_TCP, socket.IPPROTO_UDP), "IP protocol %d crosses" % ip[9]
        source_port, target_port = struct.unpack_from(">HH", ip, header)
        yield ip[9], ip[header:], ((socket.inet_ntoa(ip[12:16]), source_port),
                                   (socket.inet_ntoa(ip[16:20]), target_port))


def datagrams(path):
    """(source and target, payload) of all UDP."""
    return [(key, part[8:]) for protocol, part, key in packets(path) if protocol == socket.IPPROTO_UDP]


def streams(path):
    """All TCP streams with a recorded beginning."""
    found = {}
    for protocol, part, key in packets(path):
        if protocol != socket.IPPROTO_TCP:
            continue
        (sequence,) = struct.unpack_from(">I", part, 4)
        offset, flags = (part[12] >> 4) * 4, part[13]
        if flags & 2:
            found[key] = Stream(*key)
        assert key in found or flags & 4, "the beginning of %s:%d to %s:%d was not seen" % (*key[0], *key[1])
        if key in found:
            found[key].add(sequence, bool(flags & 2), part[offset:])
    return list(found.values())


def what_is_not_tls(data):
    """Returns None if the bytes are TLS records from the first to the last (which may be cut), else the offending
    bytes."""
    at = 0
    while at < len(data):
        head = data[at : at + 5]
        if head[0] not in TLS_RECORDS or head[1:2] not in (b"\x03", b"") or (len(head) > 2 and not 1 <= head[2] <= 3):
            return data[at : at + 100]
        if len(head) < 5:
            return None
        (size,) = struct.unpack(">H", head[3:5])
        if size > LARGEST_RECORD:
            return data[at : at + 100]
        at += 5 + size
    return None


if __name__ == "__main__":
    record(*sys.argv[1:])
