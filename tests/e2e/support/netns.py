"""Network namespaces as machines: each has its own addresses, ports and a cable that can be cut."""

import itertools
import os
import pathlib
import shutil
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

    def set_hosts(self, text):
        """Sets the content of /etc/hosts for programs that are started here from now on."""
        folder = pathlib.Path("/etc/netns") / self.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hosts").write_text(text)

    def run(self, *words):
        """Runs a program on this machine; skips the test if that is impossible."""
        try:
            done = subprocess.run(["ip", "netns", "exec", self.name, *[str(word) for word in words]], timeout=20,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except FileNotFoundError as error:
            pytest.skip(str(error))
        if done.returncode != 0:
            pytest.skip("%s: %s" % (" ".join(str(word) for word in words), done.stdout.strip()))
        return done.stdout

    def cut_cable(self):
        self.ip("link", "set", "eth0", "down")

    def plug_cable(self):
        self.ip("link", "set", "eth0", "up")

    def close(self):
        subprocess.run(["ip", "netns", "delete", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=20)
        shutil.rmtree("/etc/netns/" + self.name, ignore_errors=True)


class Network:
    """Makes machines; removes them all at the end."""

    def __init__(self):
        self._machines = []

    def machine(self):
        """One machine alone, with its loopback only."""
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

    def star(self, count, v6=False):
        """Machines around a switch: eth0 at each, addresses in .address."""
        hub = self.machine()
        hub.ip("link", "add", "br0", "type", "bridge")
        hub.ip("link", "set", "br0", "up")
        machines = []
        for number in range(1, count + 1):
            machine = self.machine()
            machine.ip("link", "add", "eth0", "type", "veth", "peer", "name", "p%d" % number, "netns", hub.name)
            hub.ip("link", "set", "p%d" % number, "master", "br0", "up")
            machine.address = "fd77:2::%d" % number if v6 else "10.77.2.%d" % number
            machine.ip("addr", "add", *([machine.address + "/64", "dev", "eth0", "nodad"] if v6 else
                                        [machine.address + "/24", "dev", "eth0"]))
            machine.ip("link", "set", "eth0", "up")
            machines.append(machine)
        return machines

    def close(self):
        for machine in self._machines:
            machine.close()
