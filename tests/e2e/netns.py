"""Network namespaces as machines: each has its own addresses, ports and a cable that can be cut."""

import itertools
import os
import subprocess

import pytest

_numbers = itertools.count(1)


def _ip(*words):
    done = subprocess.run(["ip", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    if done.returncode != 0:
        raise OSError("ip %s: %s" % (" ".join(words), done.stdout.strip()))
    return done.stdout


class Machine:
    def __init__(self, name):
        self.name = name
        _ip("netns", "add", name)
        _ip("-n", name, "link", "set", "lo", "up")

    def ip(self, *words):
        return _ip("-n", self.name, *words)

    def cut_cable(self):
        self.ip("link", "set", "eth0", "down")

    def plug_cable(self):
        self.ip("link", "set", "eth0", "up")

    def close(self):
        subprocess.run(["ip", "netns", "delete", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=20)


class Network:
    """Makes machines; removes them all at the end."""

    def __init__(self):
        self._machines = []

    def machine(self):
        """One machine that stands alone, with its loopback only."""
        name = "mst%d-%d" % (os.getpid(), next(_numbers))
        try:
            machine = Machine(name)
        except (OSError, FileNotFoundError) as error:
            pytest.skip("no network namespaces here: %s" % error)
        self._machines.append(machine)
        return machine

    def pair(self, v6=False):
        """Two machines with one cable: eth0 at each end; their addresses are in .address."""
        first, second = self.machine(), self.machine()
        first.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", second.name)
        for number, machine in enumerate((first, second), start=1):
            if v6:
                machine.address = "fd77:1::%d" % number
                machine.ip("addr", "add", machine.address + "/64", "dev", "eth0", "nodad")
            else:
                machine.address = "10.77.1.%d" % number
                machine.ip("addr", "add", machine.address + "/24", "dev", "eth0")
            machine.ip("link", "set", "eth0", "up")
        return first, second

    def close(self):
        for machine in self._machines:
            machine.close()
