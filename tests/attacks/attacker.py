"""attacker.py NAME HOST PORT: one attack over several connections until its time is over. Prints what it did, as JSON.

A connection that the server cuts is opened again at once.
"""

import argparse
import collections
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import connection as connections  # noqa: E402
from attacks import ATTACKS  # noqa: E402


class Tally:
    """The figures of all connections of this attack."""

    def __init__(self):
        self.lock, self.counts = threading.Lock(), collections.Counter()

    def add(self, what, count=1):
        with self.lock:
            self.counts[what] += count

    def note(self, connection):
        self.add("connections")
        self.add("sent_bytes", connection.sent)
        self.add("received_bytes", connection.received)


def repeat(attack, target, tally):
    while target.time_left() > 0:
        try:
            attack.run(target, tally.note)
        except connections.Over:
            return
        except connections.Cut:
            tally.add("cuts")
        except OSError:  # the server does not accept, or ends the handshake
            tally.add("refused")
            time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=ATTACKS)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--source", default="127.66.6.6", help="the address that it comes from")
    parser.add_argument("--tls", help="a folder as `ms-ctl certs` makes it")
    options = parser.parse_args()
    until, tally = time.monotonic() + options.seconds, Tally()
    target = connections.Target(options.host, options.port, options.source, options.tls, until)
    threads = [threading.Thread(target=repeat, args=(ATTACKS[options.name], target, tally), daemon=True)
               for _ in range(options.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0, until + 5 - time.monotonic()))
    print(json.dumps(tally.counts), flush=True)


main()
