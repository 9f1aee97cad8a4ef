"""The table of attacks: each has a name, a description of one line, and a function.

Most functions get an open Connection on which nothing was sent yet. Those `on_sockets` get the Target and make
connections themselves. When a function returns, or its connection is cut, it is called again on a new connection.
"""

import collections
import functools

import connection

Attack = collections.namedtuple("Attack", "name what run needs_tls")

ATTACKS = {}

_PIECE = 256 * 1024  # bytes


def attack(name, what, needs_tls=False):
    def add(function):
        def run(target, note):
            with connection.Connection(target) as made:
                try:
                    function(made)
                finally:
                    note(made)
        ATTACKS[name] = Attack(name, what, run, needs_tls)
        return function
    return add


def attack_on_sockets(name, what, needs_tls=False):
    def add(function):
        ATTACKS[name] = Attack(name, what, lambda target, note: function(target), needs_tls)
        return function
    return add


def streams(make, is_tls, first=0):
    """Yields the bytes of `make` for each new stream, in large pieces and without end. make(stream, is_tls) is a named
    function, so that a connection after a cut finds its first pieces made. `first`: the number of streams to skip."""
    at_once = max(1, min(250, _PIECE // len(make(1, is_tls))))
    while first < 2**30 - at_once:
        yield _piece(make, is_tls, first, at_once)
        first += at_once


@functools.lru_cache(maxsize=64)
def _piece(make, is_tls, first, count):
    return b"".join(make(2 * number + 1, is_tls) for number in range(first, first + count))
