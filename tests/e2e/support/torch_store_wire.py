"""TCPStore's requests as bytes, in the dialects of PyTorch 2 and 1.13, and stores to send them to."""

import select
import socket
import struct
import subprocess

from muster import BIN, SCRIPTS

NEW = ["validate", "set", "compare_set", "get", "add", "check", "wait", "num_keys", "delete", "append", "multi_get",
       "multi_set", "cancel_wait", "ping", "push", "pop", "queue_len", "list_keys", "barrier"]
OLD = ["set", "compare_set", "get", "add", "check", "wait", "num_keys", "watch", "delete"]


def text(value):
    return struct.pack("<Q", len(value)) + value


def texts(*values):
    return b"".join(text(value) for value in values)


def counted(values):
    return struct.pack("<Q", len(values)) + texts(*values)


def number(value):
    return struct.pack("<q", value)


class Stores:
    """A program that makes one empty store after the other."""

    def __init__(self, argv):
        self._program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @classmethod
    def ours(cls):
        return cls([BIN / "torch_store_server"])

    @classmethod
    def torchs_own(cls, python):
        return cls([python, SCRIPTS / "torchs_own_store.py"])

    @property
    def pid(self):
        return self._program.pid

    def new(self):
        """Makes a new store and returns its port."""
        self._program.stdin.write("\n")
        self._program.stdin.flush()
        return int(self._program.stdout.readline())

    def close(self):
        self._program.stdin.close()
        self._program.wait(30)
        self._program.stdout.close()


class Relays:
    """A program that runs several relays, and makes new ones for each store."""

    def __init__(self, count):
        self._program = subprocess.Popen([BIN / "torch_store_server", str(count)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True)
        self.pid = self._program.pid

    def to(self, port):
        """Makes relays to a store and returns their ports; closes the relays of the store before."""
        self._program.stdin.write("%d\n" % port)
        self._program.stdin.flush()
        return [int(word) for word in self._program.stdout.readline().split()]

    def close(self):
        self._program.stdin.close()
        self._program.wait(30)
        self._program.stdout.close()


class Client:
    """One connection. `is_open` is False once the server has closed it."""

    def __init__(self, port, dialect):
        self._queries = {name: bytes([code]) for code, name in enumerate(NEW if dialect == 2 else OLD)}
        self._is_new = dialect == 2
        self._port = port
        self._count = 0
        self.open()

    def open(self):
        self._socket = socket.create_connection(("127.0.0.1", self._port), 10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.is_open = True
        if self._is_new:  # with a ping at once, as clients send it: PyTorch's server expects both in whole segments
            self._count += 1
            self.send("validate", struct.pack("<I", 0x3C85F7CE) + self._queries["ping"] +
                      struct.pack("<I", self._count))
            assert self._read_until(struct.pack("<I", self._count)) == b""

    def send(self, query, fields=b""):
        try:
            self._socket.sendall(self._queries[query] + fields)
        except OSError:
            self.is_open = False

    def settle(self, own):
        """Reads up to the answer to a request with a known answer: by then all earlier requests are done. `own`: a key
        that no other client uses."""
        if not self.is_open:
            return b""
        self._count += 1
        if self._is_new:
            self.send("ping", struct.pack("<I", self._count))
            return self._read_until(struct.pack("<I", self._count))
        self.send("add", text(own) + number(1 << 40))
        got = self._read_until(number(self._count << 40))
        self._count -= not self.is_open  # it was not added
        return got

    def _read_until(self, end):
        got = b""
        while not got.endswith(end):
            ready, _, _ = select.select([self._socket], [], [], 10)
            assert ready, "no answer within 10 s; so far %r" % got[:200]
            try:
                piece = self._socket.recv(1 << 20)
            except OSError:
                piece = b""
            if not piece:
                self.is_open = False
                return got
            got += piece
        return got[:-len(end)]

    def close(self):
        self._socket.close()
        self.is_open = False
