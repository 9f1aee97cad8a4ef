"""Reads the processes of this machine from /proc, with their descent, and ends them."""

import collections
import os
import signal
import time

Process = collections.namedtuple("Process", "pid parent name state command")


def read_process(pid):
    """Returns None if it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            stat = file.read().decode(errors="replace")
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    name = stat[stat.index("(") + 1:stat.rindex(")")]
    fields = stat[stat.rindex(")") + 2:].split()
    return Process(pid, int(fields[1]), name, fields[0], command)


def snapshot():
    found = [read_process(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()]
    return [process for process in found if process is not None]


def descendants(pid, with_zombies=False):
    """Every process below `pid`, parents before children."""
    children = collections.defaultdict(list)
    for process in snapshot():
        children[process.parent].append(process)
    out, queue = [], [pid]
    while queue:
        for child in children[queue.pop(0)]:
            queue.append(child.pid)
            if with_zombies or child.state != "Z":
                out.append(child)
    return out


def is_alive(pid):
    process = read_process(pid)
    return process is not None and process.state != "Z"


def stop(*pids):
    """Sends SIGSTOP, and waits until each thread has stopped: on a busy machine some run on for a while."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 10
    while not all(_is_stopped(pid) for pid in pids):
        assert time.monotonic() < deadline, "can't stop %s" % (pids,)
        time.sleep(0.001)


def _is_stopped(pid):
    try:
        for thread in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, thread), "rb") as file:
                stat = file.read()
            if stat[stat.rindex(b")") + 2:][:1] not in b"TtZX":
                return False
    except (FileNotFoundError, ProcessLookupError):
        return False  # a thread has just ended: look again
    return True


def named(name, pid=None):
    """The descendants of that name, of this process or of `pid`."""
    return [process for process in descendants(pid or os.getpid()) if process.name == name]


# The agent's own processes, as opposed to the training processes.
OWN = ("ms-worker", "ms-guardian", "ms-keeper", "ms-shim", "ms-keeper-files", "ms-keeper-relay")


def kill_together(agent, *names):
    """Kills an agent and those below it that have these names (ms-guardian, ms-keeper, ms-shim) in one instant, so that
    none has the time to clean up after the others. Begins with the lowest one, since a death wakes the one below."""
    victims = [process.pid for name in ("ms-shim", "ms-keeper", "ms-guardian") if name in names
               for process in named(name, agent)] + [agent]
    stop(*victims)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)


def reap_adopted(own):
    """Collects zombies that came to this process as a subreaper; returns {pid: exit code as a shell shows it}. `own`:
    the pids that other code waits for."""
    codes = {}
    for process in descendants(os.getpid(), with_zombies=True):
        if process.parent == os.getpid() and process.state == "Z" and process.pid not in own:
            try:
                pid, status = os.waitpid(process.pid, os.WNOHANG)
            except ChildProcessError:
                continue  # collected in the meantime by subprocess, which also waits for children it no longer tracks
            if pid:
                code = os.waitstatus_to_exitcode(status)
                codes[pid] = 128 - code if code < 0 else code
    return codes


def kill_descendants(popens):
    """Sends SIGKILL to everything below this process until nothing is left. `popens`: {pid: Popen} of its own
    children."""
    deadline = time.monotonic() + 20
    while True:
        for process in descendants(os.getpid()):
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for popen in popens.values():
            popen.poll()
        reap_adopted(set(popens))
        left = descendants(os.getpid())
        if not left:
            return
        assert time.monotonic() < deadline, "could not kill %s" % left
        time.sleep(0.02)
