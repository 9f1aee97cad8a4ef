"""Runs many clients of a peer as real processes, without importing PyTorch once for each.

The parent has imported the modules that the children need. Each child waits at the gate, works, and returns one JSON
value.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
import traceback

from measuring import Failed


class TimedOut(Failed):
    """Some clients were not done in time."""


class Children:
    """`count` processes that wait for open_gate(); each then runs work(index) -> a JSON value."""

    def __init__(self, count, work):
        self.gate_read, self.gate_write = os.pipe()
        self.pids, self.pipes = [], {}
        for index in range(count):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                self._child(index, work, write)
            os.close(write)
            self.pids.append(pid)
            self.pipes[read] = b""

    def _child(self, index, work, write):
        code = 1
        try:
            os.close(self.gate_write)
            os.read(self.gate_read, 1)  # returns when the parent closes its end
            os.write(write, json.dumps(work(index)).encode())
            code = 0
        except Exception:  # the parent must learn of every kind of failure
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def open_gate(self):
        os.close(self.gate_write)

    def results(self, timeout):
        """Returns the value of each child. Afterwards the children are gone."""
        deadline = time.monotonic() + timeout
        open_pipes = set(self.pipes)
        try:
            while open_pipes:
                ready, _, _ = select.select(open_pipes, [], [], max(0, deadline - time.monotonic()))
                if not ready:
                    raise TimedOut("%d of %d clients were not done after %d s" %
                                   (len(open_pipes), len(self.pids), timeout))
                for pipe in ready:
                    data = os.read(pipe, 65536)
                    self.pipes[pipe] += data
                    if not data:
                        open_pipes.remove(pipe)
                        os.close(pipe)
        finally:
            self._end()
        bad = [data for data in self.pipes.values() if not data]
        if bad:
            raise Failed("%d of %d clients failed" % (len(bad), len(self.pids)))
        return [json.loads(data) for data in self.pipes.values()]

    def _end(self):
        for pid in self.pids:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
            os.waitpid(pid, 0)


def leave_dns_out():
    """Starts this program again in a mount namespace where names come from files only. PyTorch's clients and server
    look up the name of every address they see, here the loopback's. Otherwise the measurement would include a slow DNS
    server."""
    if os.environ.get("MUSTER_BENCH_NO_DNS"):
        return
    switch = tempfile.NamedTemporaryFile("w", prefix="muster-bench-", delete=False)
    switch.write("hosts: files\n")
    switch.close()
    probe = 'mount --bind "$0" /etc/nsswitch.conf'
    again = probe + ' && rm "$0" && exec "$@"'  # the mount stays after the file is removed
    unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    if subprocess.run(unshare + ["sh", "-c", probe, switch.name], stderr=subprocess.DEVNULL).returncode == 0:
        os.environ["MUSTER_BENCH_NO_DNS"] = "1"
        os.execvp("unshare", unshare + ["sh", "-c", again, switch.name, sys.executable] + sys.argv)
    os.unlink(switch.name)
