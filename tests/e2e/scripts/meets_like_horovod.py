"""Starts as Horovod's C++ does with Gloo. For each communicator every rank PUTs its address, polls for the others'
every 10 ms, connects to all, and DELETEs its key. Uses no third party's code."""

import fcntl
import os
import socket
import struct
import sys
import time
import urllib.error
import urllib.request

NUMBERS = {name: int(os.environ["HOROVOD_" + name])
           for name in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")}
AT = "http://%s:%s/" % (os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"])


def ask(method, path, body=None):
    """Returns the answer, or None if the key does not exist."""
    headers = {} if body is None else {"Content-Length": str(len(body))}
    try:
        with urllib.request.urlopen(urllib.request.Request(AT + path, body, headers, method=method), timeout=30) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        assert error.code == 404, error
        return None


def own_address():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = os.environ["HOROVOD_GLOO_IFACE"].encode()
        return socket.inet_ntoa(fcntl.ioctl(any_socket, 0x8915, struct.pack("256s", name))[20:24])  # SIOCGIFADDR


def meet(scope, rank, size, padding):
    """All ranks of the communicator connect to each other, and sum up their ranks."""
    listener = socket.create_server((own_address(), 0), backlog=size)
    own = "%s %d " % listener.getsockname()
    ask("PUT", "%s/%d" % (scope, rank), own.encode() + b"x" * padding)
    total = rank
    begun = time.monotonic()
    for other in range(size):
        if other == rank:
            continue
        while (told := ask("GET", "%s/%d" % (scope, other))) is None:
            assert time.monotonic() - begun < 60, "rank %d does not come to %s" % (other, scope)
            time.sleep(0.01)
        assert len(told) > padding
        host, port = told.split()[:2]
        with socket.create_connection((host.decode(), int(port)), 10) as connection:  # to a live process
            connection.sendall(struct.pack("<I", rank))
    listener.settimeout(30)
    for _ in range(size - 1):
        with listener.accept()[0] as connection:
            total += struct.unpack("<I", connection.recv(4, socket.MSG_WAITALL))[0]
    assert total == size * (size - 1) // 2, total
    ask("DELETE", "%s/%d" % (scope, rank))


def initialize(padding=100):
    meet("global", NUMBERS["RANK"], NUMBERS["SIZE"], padding)
    meet("local_" + os.environ["HOROVOD_HOSTNAME"], NUMBERS["LOCAL_RANK"], NUMBERS["LOCAL_SIZE"], padding)
    meet("cross_%d" % NUMBERS["LOCAL_RANK"], NUMBERS["CROSS_RANK"], NUMBERS["CROSS_SIZE"], padding)


if __name__ == "__main__":
    assert os.environ["HOROVOD_CONTROLLER"] == "gloo"
    for start in range(3):  # hvd.init(), hvd.shutdown(), …
        initialize(200_000 if start == 1 else 100)
    if len(sys.argv) > 1 and os.environ["MS_RESTART_COUNT"] == "0":
        print("met once", flush=True)
        if NUMBERS["RANK"] == int(sys.argv[1]):
            os._exit(3)
        time.sleep(100)
    print("rank %d of %d: met all" % (NUMBERS["RANK"], NUMBERS["SIZE"]), flush=True)
