"""honest.py HOST PORT: an honest node joins every few seconds, each time from another address, and gets its ranks.

Begins when the first line of its standard input comes and ends when the input ends. Prints a line of JSON for each join:
{"ms": 12.3}, or {"error": "…"}. It uses its own HTTP/2 code, because a gRPC client can't choose its source address.
"""

import argparse
import json
import os
import pathlib
import random
import select
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE), str(HERE.parent / "e2e" / "support")]
sys.dont_write_bytecode = True

import connection as connections  # noqa: E402
import frames  # noqa: E402
import wire  # noqa: E402

PATIENCE = 15  # seconds for one join


class Join:
    """One join, from its connect until it holds its ranks."""

    def __init__(self, target, number):
        self.target, self.number = target, number
        self.reader, self.bytes, self.is_in, self.refusal = frames.FrameReader(), b"", False, None
        self.pb = wire.messages()

    def run(self):
        begin = time.monotonic()
        with connections.Connection(self.target) as connection:
            connection.on_received = self.take
            connection.greet()
            message = wire.join(self.pb, "honest-%d" % self.number, "", random.getrandbits(63) + 1, 1)
            payload = frames.message(message.SerializeToString())
            connection.send(frames.headers(1, frames.request(frames.SESSION, connection.is_tls)) + frames.data(1, payload))
            while not self.is_in and self.refusal is None:
                connection.await_bytes()
            if self.refusal is not None:
                raise ConnectionError("refused: %s" % self.refusal)
            took = time.monotonic() - begin
            connection.send(frames.data(1, b"", frames.END_STREAM))
        return took

    def take(self, received):
        for kind, _, stream, payload in self.reader.feed(received):
            if kind == frames.DATA and stream == 1:
                self.bytes += payload
        while len(self.bytes) >= 5:
            end = 5 + int.from_bytes(self.bytes[1:5], "big")
            if len(self.bytes) < end:
                return
            message, self.bytes = self.pb.SchedulerMessage.FromString(self.bytes[5:end]), self.bytes[end:]
            if message.HasField("refusal"):
                self.refusal = message.refusal.text
            self.is_in = self.is_in or (message.HasField("desired") and message.desired.HasField("assignment"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--interval", type=float, default=2)
    parser.add_argument("--tls", help="a folder as `ms-ctl certs` makes it")
    options = parser.parse_args()
    wire.messages()  # made before the first time is taken
    target = connections.Target(options.host, options.port, "127.0.0.1", options.tls, 0)
    number = 0
    print("ready", flush=True)
    os.read(0, 100)
    while not select.select([sys.stdin], [], [], options.interval if number else 0)[0]:
        number += 1
        target.source, target.until = "127.0.2.%d" % (number % 250 + 1), time.monotonic() + PATIENCE
        try:
            print(json.dumps({"ms": Join(target, number).run() * 1000}), flush=True)
        except connections.Over:
            print(json.dumps({"error": "not in after %d s" % PATIENCE}), flush=True)
        except (connections.Cut, OSError) as error:
            print(json.dumps({"error": "%s: %s" % (type(error).__name__, error)}), flush=True)


main()
