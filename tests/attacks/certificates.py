"""The certificates of a run, made by `ms-ctl certs`: for a scheduler, an admin, and three kinds of node."""

import subprocess

# Owner of a certificate: the arguments of ms-ctl certs.
_WHO = {
    "scheduler": ["scheduler", "--host", "127.0.0.1"],
    "admin": ["admin"],
    "agents": ["node", "--host", "agents"],
    "honest": ["node", "--host", "honest"],
    "attacker": ["node", "--id", "7"],  # an ordinary node's
}


class Certificates:
    """All certificates, each in a folder of its own next to the others."""

    def __init__(self, program, folder):
        self.folder = folder
        self._run(program, "init")
        for words in _WHO.values():
            self._run(program, *words)

    def _run(self, program, *words):
        subprocess.run([program, "certs", *words, "--dir", self.folder], check=True, stdout=subprocess.DEVNULL, timeout=60)

    def of(self, who):
        names = {"agents": "host-agents", "honest": "host-honest", "attacker": "node-7"}
        return self.folder / names.get(who, who)

    def words(self, who):
        """The arguments for a program's command line."""
        return ["--tls_config", str(self.of(who) / "tls.json")]
