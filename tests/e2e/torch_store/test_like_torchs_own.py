"""Our store answers as PyTorch's own servers do, directly and through relays: byte for byte, over random requests of
several clients.

After each request every client sends one with a known answer, which shows exactly which clients the request woke. The
test leaves out the oddities that docs/frameworks/pytorch.md names, and requests that no client of PyTorch sends: a
second wait beside the first.
"""

import os
import random
import struct
import subprocess

import pytest

from torch_store_wire import Client, Relays, Stores, counted, number, text, texts

CLIENTS = 3
STEPS = 30
OF_ONE_STORE = 25  # sequences; each one finds the keys that the earlier ones left
SEQUENCES = int(os.environ.get("MUSTER_STORE_SEQUENCES", "2000" if os.environ.get("MUSTER_LONG") else "250"))
SEED = int(os.environ.get("MUSTER_STORE_SEED", "23"))

KEYS = [b"/a", b"/b", b"/default_pg/0//cpu//0/1", b"init/", b""]
SUM = b"/n"  # is only added to
QUEUES = [b"/q", b"/r"]  # no keys: PyTorch's server lets a client that a push woke go on waiting for the key
BARRIERS = {1: b"/bar-1", 2: b"/bar-2", 3: b"/bar-3"}  # separate keys: PyTorch's server would end a barrier on a set


class Both:
    """The same clients at our store and at PyTorch's, each at the ports in turn."""

    def __init__(self, ours, theirs, dialect):
        self.sides = [[Client(ports[i % len(ports)], dialect) for i in range(CLIENTS)] for ports in (ours, theirs)]
        self.waits = [None] * CLIENTS  # the keys that each client waits for

    def say(self, client, query, fields):
        for side in self.sides:
            side[client].send(query, fields)
        answers = [[b""] * CLIENTS, [b""] * CLIENTS]
        for each in [client] + [other for other in range(CLIENTS) if other != client]:
            for got, side in zip(answers, self.sides):
                got[each] = side[each].settle(b"~%d" % each)
        return answers

    def forget_wait(self, client):
        """The client got its answer. If it waits for a queue, PyTorch's server goes on sending answers until it
        cancels."""
        if self.waits[client][0] in QUEUES:
            assert self.say(client, "cancel_wait", b"") == [[b"\1" if each == client else b"" for each in range(CLIENTS)]] * 2
        self.waits[client] = None

    def are_open(self):
        return [[client.is_open for client in side] for side in self.sides]

    def reopen(self):
        """Connects the closed clients again."""
        for client in range(CLIENTS):
            if not self.sides[0][client].is_open:
                self.waits[client] = None
                for side in self.sides:
                    side[client].close()
                    side[client].open()

    def close(self):
        for side in self.sides:
            for client in side:
                client.close()


def value(rng):
    return rng.choice([b"", b"0", b"7", b"-3", b"12abc", b"abc", b"x" * 129, b"y" * 5000, bytes([rng.randrange(256)]),
                       str(2**62).encode()])


def some_keys(rng):
    return [rng.choice(KEYS) for _ in range(rng.choice([1, 1, 2, 3]))]


def request(rng, both, client, dialect):
    """Makes a query and its fields."""
    awaited = {key for keys in both.waits if keys for key in keys}
    queries = ["set", "set", "get", "add", "check", "wait", "wait", "num_keys", "delete", "compare_set"]
    if dialect == 2:
        queries += ["append", "multi_get", "multi_set", "cancel_wait", "push", "push", "pop", "queue_len", "list_keys",
                    "barrier", "wait_queue"]
    query = rng.choice(queries)
    key = rng.choice(KEYS)
    if both.waits[client] is not None:  # a client of PyTorch sends only the first of these, too
        query = rng.choice(["cancel_wait", "cancel_wait", "num_keys", "check"] if dialect == 2 else ["num_keys", "check"])
    if query == "compare_set" and key in awaited:
        query = "set"  # PyTorch's server wakes a client even if compare_set stores nothing
    if query == "wait":
        keys = some_keys(rng)
        return query, counted(keys), keys
    if query == "wait_queue":
        keys = [rng.choice(QUEUES)]
        return "wait", counted(keys), keys
    if query == "barrier":
        size = rng.choice(list(BARRIERS))
        return query, text(BARRIERS[size]) + number(size), [BARRIERS[size]]
    queue = rng.choice(QUEUES)
    # A value that is no number ends the connection; then PyTorch 2.13 often takes 5 s to see the next one.
    summed = key if dialect == 1 or rng.random() < 0.02 else SUM
    fields = {
        "set": lambda: texts(key, value(rng)), "append": lambda: texts(key, value(rng)),
        "compare_set": lambda: texts(key, rng.choice([b"", b"0", b"7"]), value(rng)),
        "get": lambda: text(key), "delete": lambda: text(key), "num_keys": bytes, "list_keys": bytes,
        "add": lambda: text(summed) + number(rng.choice([1, -1, 0, 2**62])), "cancel_wait": bytes,
        "check": lambda: counted(rng.choice([[], some_keys(rng)])), "multi_get": lambda: counted(some_keys(rng)),
        "multi_set": lambda: _pairs([(rng.choice(KEYS), value(rng)) for _ in range(rng.randrange(4))]),
        "push": lambda: texts(queue, value(rng)), "pop": lambda: text(queue), "queue_len": lambda: text(queue),
    }[query]()
    return query, fields, None


def _pairs(pairs):
    return struct.pack("<Q", len(pairs)) + b"".join(texts(*pair) for pair in pairs)


def in_order(query, answer):
    """Sorts the answer to list_keys, which has the order of a hash map."""
    if query != "list_keys" or len(answer) < 8:
        return answer
    count, = struct.unpack_from("<Q", answer)
    at, keys = 8, []
    for _ in range(count):
        size, = struct.unpack_from("<Q", answer, at)
        keys.append(answer[at + 8:at + 8 + size])
        at += 8 + size
    return sorted(keys), answer[at:]


def play(rng, both, dialect):
    told = []
    for step in range(STEPS):
        client = rng.randrange(CLIENTS)
        query, fields, waits_for = request(rng, both, client, dialect)
        told.append((client, query, fields[:60]))
        ours, theirs = both.say(client, query, fields)
        ours[client], theirs[client] = in_order(query, ours[client]), in_order(query, theirs[client])
        assert ours == theirs, "step %d: ours %r, PyTorch's %r, after %r" % (step, ours, theirs, told)
        are_open = both.are_open()
        assert are_open[0] == are_open[1], "step %d: open %r, after %r" % (step, are_open, told)
        if waits_for is not None and not ours[client]:
            both.waits[client] = waits_for
        if query == "cancel_wait":
            both.waits[client] = None
        for each in range(CLIENTS):
            if each != client and ours[each]:
                both.forget_wait(each)
        both.reopen()


def compare(torch, sequences, relays):
    version = subprocess.check_output([torch, "-c", "import torch; print(torch.__version__)"], text=True)
    dialect = 1 if version.startswith("1.") else 2
    programs = [Stores.ours(), Stores.torchs_own(torch)] + ([Relays(relays)] if relays else [])
    try:
        for first in range(0, sequences, OF_ONE_STORE):
            ours = programs[0].new()
            both = Both(programs[2].to(ours) if relays else [ours], [programs[1].new()], dialect)
            for sequence in range(first, first + OF_ONE_STORE):
                try:
                    play(random.Random("%d.%d" % (SEED, sequence)), both, dialect)
                except AssertionError as error:
                    raise AssertionError("MUSTER_STORE_SEED=%d, sequence %d: %s" % (SEED, sequence, error)) from None
            both.close()
    finally:
        for program in programs:
            program.close()


def test_random_requests(each_torch):
    compare(each_torch, SEQUENCES, relays=0)


# A single relay, and two that share three clients.
@pytest.mark.parametrize("relays", [1, 2])
def test_random_requests_through_relays(each_torch, relays):
    compare(each_torch, SEQUENCES if os.environ.get("MUSTER_LONG") else OF_ONE_STORE, relays)
