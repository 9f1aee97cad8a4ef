"""etcd (Debian's etcd-server) as a rendezvous: lease + put + watch for each node; then keep-alives as heartbeats.

    etcd.py --measure form|heartbeat --agents 4000 [--window 20 --interval 5]

One member, defaults, its data in a fresh folder on disk (it syncs, as Muster's journal does). etcd_nodes.cc describes
how a round is built on it. The generator is peer_load, C++ on the gRPC that Muster's own generator uses.
"""

import pathlib
import shutil
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from measuring import Failed, Server, become_main, free_ports, load_options, run_load  # noqa: E402


def measure():
    options = load_options()
    if shutil.which("etcd") is None:
        raise Failed("etcd is not installed (Debian's package etcd-server)")
    client, peer = ("http://127.0.0.1:%d" % port for port in free_ports(2))
    with tempfile.TemporaryDirectory(prefix="muster-bench-etcd-", dir="/var/tmp") as folder:
        words = ["etcd", "--name", "bench", "--data-dir", folder, "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", "bench=" + peer, "--logger", "zap", "--log-level", "error"]
        with Server(words) as server:
            server.expect(lambda _: is_open(client))
            return run_load("etcd", options, client[len("http://"):], server.pid)


def is_open(url):
    host, port = url[len("http://"):].split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


if __name__ == "__main__":
    become_main(measure)
