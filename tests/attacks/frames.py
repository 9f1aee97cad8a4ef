"""Makes HTTP/2 frames (RFC 9113) and header blocks (HPACK, RFC 7541) as bytes, valid or invalid as the caller wants."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5

LARGEST = 16384  # bytes of a frame, unless the peer allows more
HIGHEST_STREAM = 2**31 - 1

# The static table's entries (RFC 7541, appendix A) that form a request.
_POST, _HTTP, _HTTPS = b"\x83", b"\x86", b"\x87"
_AUTHORITY, _PATH, _CONTENT_TYPE = 1, 4, 31

SESSION = "/muster.v1.Rendezvous/Session"
COUNTERS = "/muster.v1.Admin/GetCounters"
NODES = "/muster.v1.Admin/ListNodes"
RANKS = "/muster.v1.Admin/ListRanks"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    """`length`: the length field, if it should be wrong."""
    length = len(payload) if length is None else length
    return length.to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def settings(*entries):
    """A SETTINGS frame with these (number, value) pairs."""
    return frame(SETTINGS, 0, 0, b"".join(number.to_bytes(2, "big") + value.to_bytes(4, "big")
                                          for number, value in entries))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


def reset(stream, code=8):
    """The default code is CANCEL."""
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def integer(value, prefix, pattern=0):
    """Encodes an integer by RFC 7541, 5.1: `prefix` bits, with the pattern in the bits above."""
    most = (1 << prefix) - 1
    if value < most:
        return bytes([pattern | value])
    out, value = [pattern | most], value - most
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes(out + [value])


def text(value, is_huffman=False):
    return integer(len(value), 7, 0x80 if is_huffman else 0) + value


def literal(name, value, is_huffman=False, pattern=0x00, prefix=4):
    """A field that is not kept (6.2.2). `name`: bytes, or its place in a table. kept() and never() change the kind."""
    start = integer(name, prefix, pattern) if isinstance(name, int) else bytes([pattern]) + text(name)
    return start + text(value, is_huffman)


def kept(name, value):
    """A field that goes into the dynamic table (6.2.1)."""
    return literal(name, value, pattern=0x40, prefix=6)


def never(name, value):
    """A field that must not go into a table, here or at later hops (6.2.3)."""
    return literal(name, value, pattern=0x10)


def table_size(value):
    """A dynamic table size update (6.3)."""
    return integer(value, 5, 0x20)


def request(path, is_tls=False, more=b""):
    """The header block of a gRPC request; `more` are further fields."""
    return (_POST + (_HTTPS if is_tls else _HTTP) + literal(_PATH, path.encode()) + literal(_AUTHORITY, b"muster") +
            literal(_CONTENT_TYPE, b"application/grpc") + literal(b"te", b"trailers") + more)


def headers(stream, block, flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block)


def message(payload, length=None):
    """A gRPC message as DATA carries it."""
    return b"\0" + (len(payload) if length is None else length).to_bytes(4, "big") + payload


def data(stream, payload, flags=0):
    """DATA frames, as many as the payload needs; the last one has the flags."""
    parts = [payload[i:i + LARGEST] for i in range(0, len(payload), LARGEST)] or [b""]
    return b"".join(frame(DATA, flags if part is parts[-1] else 0, stream, part) for part in parts)


class FrameReader:
    """Cuts the received bytes into frames."""

    def __init__(self):
        self.left = b""

    def feed(self, received):
        """Returns (kind, flags, stream, payload) of each frame that is complete now."""
        self.left += received
        while len(self.left) >= 9:
            end = 9 + int.from_bytes(self.left[:3], "big")
            if len(self.left) < end:
                return
            head, payload, self.left = self.left[:9], self.left[9:end], self.left[end:]
            yield head[3], head[4], int.from_bytes(head[5:9], "big") & HIGHEST_STREAM, payload
