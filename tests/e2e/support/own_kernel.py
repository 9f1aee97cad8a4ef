"""A kernel of its own for a test that would disturb everything else on the machine: it sets the clock.

User-mode Linux (Debian's user-mode-linux) is a whole Linux kernel in an ordinary process. It needs no rights, sees this
machine's files, and is up within two seconds. A preloaded library is no substitute: gRPC and Abseil wait in the kernel,
by its wall clock, which a library can't set.
"""

import functools
import os
import shlex
import shutil
import sys

import pytest

from muster import BIN

KERNEL = "linux.uml"
ARE_WE_INSIDE = "MUSTER_OWN_KERNEL"
_PASSED_ON = ("MUSTER_LONG", "MUSTER_SEED", "MUSTER_SLOWNESS", "MUSTER_MEASUREMENTS", "MUSTER_PYTHON")

# /run is the kernel's own memory, so that locks and sockets do not reach the machine outside.
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME={folder}
mount -t proc proc /proc
mount -t tmpfs tmpfs /run
ip link set lo up
cd {here} && {environment} {command} >{folder}/inside.log 2>&1
echo $? >{folder}/exit_code
echo o >/proc/sysrq-trigger
sleep 60
"""


def boot(cluster, words, environment, timeout):
    """Runs the words in a new kernel; returns their exit code (None: the kernel died on the way) and output. Skips the
    test if there can be no such kernel."""
    folder = cluster.folder / "own_kernel"
    folder.mkdir()
    init = folder / "init"
    init.write_text(INIT.format(folder=shlex.quote(str(folder)), here=shlex.quote(os.getcwd()),
                                environment=" ".join("%s=%s" % (name, shlex.quote(value))
                                                     for name, value in environment.items()),
                                command=" ".join(shlex.quote(str(word)) for word in words)))
    init.chmod(0o755)
    kernel = cluster.start("own_kernel", [KERNEL, "rootfstype=hostfs", "rootflags=/", "rw", "mem=1G", "quiet",
                                          "init=%s" % init, "con=null", "con0=null,fd:1", "ssl=null"])
    kernel.wait(timeout)
    if not (folder / "inside.log").exists():
        pytest.skip("no kernel of our own can run here: %s" % kernel.tail(3))
    code, log = folder / "exit_code", folder / "inside.log"
    return int(code.read_text()) if code.exists() else None, log.read_text()


def runs_in_one(test):
    """Makes a test run in a kernel of its own. The test must take the fixtures `cluster` and `request`."""
    if os.environ.get(ARE_WE_INSIDE) == "1":
        return test

    @functools.wraps(test)
    def outside(cluster, request, **_):
        if shutil.which(KERNEL) is None:
            pytest.skip("no %s: it comes with Debian's user-mode-linux" % KERNEL)
        program = (BIN / "ms-scheduler").read_bytes()
        if b"__asan_init" in program or b"__tsan_init" in program:
            pytest.skip("a sanitizer's shadow memory does not fit into that kernel's address space")
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment.update({ARE_WE_INSIDE: "1", "MUSTER_BIN": str(BIN.resolve()), "TMPDIR": "/run"})
        words = [sys.executable, "-B", "-m", "pytest", "%s::%s" % (request.path, request.node.name), "-q", "-rs", "-p",
                 "no:cacheprovider", "--basetemp", "/run/test"]
        code, output = boot(cluster, words, environment, 300)
        print(output)
        assert code == 0 and "1 passed" in output, output
    return outside
