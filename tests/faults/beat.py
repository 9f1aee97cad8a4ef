"""Acts as a training process: lives until FOLDER/go.<job> exists, and writes a beat every 50 ms.

    beat.py FOLDER [--ignore_sigterm] [--bare]

It has a child, and another child in a session of its own; both also write beats. Each of the three has its own file: a
line that says which process it is, then one line for each beat (beats.py reads them).

--ignore_sigterm: the odd ranks live until SIGKILL. --bare: the children execute themselves again with an empty
environment, as `env -i` and sudo leave it.
"""

import json
import os
import signal
import sys
import time

INTERVAL = 0.05


def start_ticks():
    """The time when the kernel started this process: together with the pid, it names the process uniquely."""
    with open("/proc/self/stat", "rb") as file:
        return int(file.read().rpartition(b") ")[2].split()[19])


def identity():
    with open(os.environ["MS_CLUSTER_FILE"]) as file:
        cluster = json.load(file)
    return {"job": cluster["job_id"], "run": cluster["run"], "round": int(os.environ["MS_ROUND"]),
            "attempt": int(os.environ["MS_RESTART_COUNT"]), "rank": int(os.environ["RANK"]),
            "node": os.environ["MUSTER_NODE_ID"], "family": "%d.%d" % (os.getpid(), start_ticks()),
            "assignments": {str(peer["rank"]): peer["node_id"] for peer in cluster["peers"]}
                           if cluster["round"] == int(os.environ["MS_ROUND"]) else {}}


def beat(folder, who, member):
    """Writes each beat with one short append, with the clock that all processes of a kernel share."""
    name = "%s.%d.%d.%s.%s.beats" % (who["job"], who["run"], who["rank"], who["family"], member)
    file = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    pid, go = os.getpid(), os.path.join(folder, "go." + who["job"])
    os.write(file, (json.dumps(dict(who, member=member, pid=pid)) + "\n").encode())
    line = "%d %d %d %d %d " % (who["rank"], who["round"], who["attempt"], who["run"], pid)
    while not os.path.exists(go):
        os.write(file, (line + "%.6f\n" % time.monotonic()).encode())
        time.sleep(INTERVAL)


def main():
    if "--member" in sys.argv:  # a child of --bare
        _, folder, _, member, who = sys.argv
        return beat(folder, json.loads(who), member)
    folder, who = sys.argv[1], identity()
    if "--ignore_sigterm" in sys.argv and who["rank"] % 2 == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    children = []
    for member in ("child", "session"):
        pid = os.fork()
        if pid == 0:
            if member == "session":
                os.setsid()
            if "--bare" in sys.argv:
                os.execve(sys.executable, [sys.executable, "-S", __file__, folder, "--member", member, json.dumps(who)], {})
            beat(folder, who, member)
            os._exit(0)
        children.append(pid)
    beat(folder, who, "main")
    for pid in children:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
