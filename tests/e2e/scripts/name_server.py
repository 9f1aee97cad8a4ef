"""name_server.py FILE: a name server for tests, at 127.0.0.1, which answers once FILE exists. It knows two names:
box.cluster.test is 127.0.0.1, six.cluster.test is ::1."""

import pathlib
import socket
import struct
import sys

A, AAAA = 1, 28
NAMES = {(b"\3box\7cluster\4test\0", A): socket.inet_pton(socket.AF_INET, "127.0.0.1"),
         (b"\3six\7cluster\4test\0", AAAA): socket.inet_pton(socket.AF_INET6, "::1")}
NO_ERROR, NO_SUCH_NAME = 0x8580, 0x8583

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
pathlib.Path(sys.argv[1]).write_text("it serves")
while True:
    asked, client = server.recvfrom(512)
    end = asked.index(b"\0", 12) + 1
    name, kind = asked[12:end].lower(), struct.unpack("!H", asked[end:end + 2])[0]
    data = NAMES.get((name, kind))
    code = NO_ERROR if any(name == known for known, _ in NAMES) else NO_SUCH_NAME
    answer = b"" if data is None else b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data
    server.sendto(asked[:2] + struct.pack("!HHHHH", code, 1, data is not None, 0, 0) + asked[12:end + 4] + answer, client)
