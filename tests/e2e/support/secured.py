"""A cluster over mutual TLS; each of its members has a certificate of its own."""

import json

import pki
from muster import eventually


class Secured:
    """A scheduler with TLS, and agents with a certificate each."""

    def __init__(self, cluster):
        self.cluster, self.authority = cluster, pki.Authority()
        self.folders = {}

    def folder(self, name, **options):
        self.folders[name] = pki.Folder(self.cluster.folder / ("tls-" + name), self.authority, **options)
        return self.folders[name]

    def start_scheduler(self, *words, **options):
        folder = self.folder("scheduler", server=self.authority.scheduler(), client=self.authority.admin())
        return self.cluster.start_scheduler("--tls_config", folder.config, *words, **options)

    def start_node(self, node_id, command, *words, certificate=None, **options):
        folder = self.folder(node_id, client=certificate or self.authority.node(node_id))
        return self.cluster.start_agent(node_id, ["--tls_config", folder.config, *words], command, **options)

    def ctl(self, *words, folder="scheduler", **options):
        return self.cluster.ctl("--tls_config", self.folders[folder].config, *words, **options)

    def json(self, *words, **options):
        return json.loads(self.ctl(*words, "--json", **options))

    def count(self, name, **options):
        return self.json("counters", **options)["counters"].get(name, 0)

    def wait_until_running(self, count):
        def running():
            jobs = self.json("ranks")["jobs"]
            ranks = [rank for job in jobs for rank in job["ranks"] if rank["state"] == "running"]
            return ranks if len(ranks) == count else None
        return eventually(running, 30, "%d processes run" % count)
