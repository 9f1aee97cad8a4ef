"""Rings of ms-ring processes for tests: ports that are held as the agent holds them, cluster files, certificates."""

import json
import socket
import subprocess

from muster import BIN


class Ring:
    """Rank k runs on machines[k] (network namespaces), or all on this machine."""

    def __init__(self, cluster, size, machines=None, secure=True, job="ring"):
        self.cluster, self.size, self.machines, self.secure, self.job = cluster, size, machines, secure, job
        self.folder = cluster.folder / job
        self.folder.mkdir()
        self.certs = self.folder / "ca"
        self.held = []
        self.fingerprints = [""] * size
        if secure:
            self.certificates("init")
            for rank in range(size):
                self.issue(rank, "node")
        self.ports = [self._port(rank) for rank in range(size)]
        self.runs = 0

    def certificates(self, *words):
        done = subprocess.run([str(word) for word in (BIN / "ms-ctl", "certs", *words, "--dir", self.certs, "--json")],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                              env=self.cluster.env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def issue(self, rank, command):
        words = ["--id", rank] if command == "node" else ["node-%d" % rank]
        made = self.certificates(command, *words)["certificates"][0]
        self.fingerprints[rank] = made["fingerprint"]
        return made

    def tls_config(self, rank):
        return self.certs / ("node-%d" % rank) / "tls.json"

    def _port(self, rank):
        if self.machines:
            return 40000 + rank  # no other process is there
        held = socket.socket(socket.AF_INET6)
        held.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        held.bind(("::", 0))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.append(held)
        return held.getsockname()[1]

    def peer(self, rank):
        return {"rank": rank, "role": "worker", "node_id": "n%d" % rank,
                "node_rank": rank if self.machines else 0, "host": "host%d" % rank,
                "address": self.machines[rank].address if self.machines else "127.0.0.1", "local_rank": 0,
                "ring_port": self.ports[rank], "device_id": "0", "device_address": "",
                "certificate_fingerprint": self.fingerprints[rank]}

    def start(self, words=(), own_fingerprints=None, command=(), env=None, env_of=None, only=None,
              **options):
        """Starts all ranks at once. own_fingerprints: a rank's own fingerprint in its own cluster file, if it
        differs; env_of: variables of one rank; only: the ranks to start."""
        self.runs += 1
        programs = []
        for rank in only or range(self.size):
            peers = [self.peer(other) for other in range(self.size)]
            peers[rank]["certificate_fingerprint"] = (own_fingerprints or {}).get(rank, self.fingerprints[rank])
            file = self.folder / ("cluster-%d.json" % rank)
            file.write_text(json.dumps({
                "schema": "muster.cluster/1", "job_id": self.job, "run": 1, "round": self.runs, "restart_count": 0,
                "role": "worker", "world_size": self.size, "server_num": 0, "nnodes": self.size, "node_id": "n%d" % rank,
                "node_rank": rank, "local_ranks": [{"rank": rank, "local_rank": 0, "device_id": "0"}],
                "master": {"address": "127.0.0.1", "port": 1}, "peers": peers, "peers_complete": True}))
            argv = [BIN / "ms-ring", "--cluster_file", file, *words]
            if self.secure:
                argv += ["--tls_config", self.tls_config(rank)]
            argv += ["--", *command] if command else []
            name = "%s-%d-%d" % (self.job, self.runs, rank)
            programs.append(self.cluster.start(name, argv, netns=self.machines[rank].name if self.machines else None,
                                               env={**(env or {}), **(env_of or {}).get(rank, {}), "TORCHELASTIC_ERROR_FILE":
                                                    str(self.folder / ("error-%d-%d" % (self.runs, rank)))},
                                               **options))
        return programs

    def error(self, rank):
        """The rank's report to its agent; None if it sent none."""
        path = self.folder / ("error-%d-%d" % (self.runs, rank))
        return json.loads(path.read_text())["message"]["message"] if path.exists() else None

    def close(self):
        for held in self.held:
            held.close()
