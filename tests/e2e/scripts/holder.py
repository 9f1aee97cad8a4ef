"""Acts as a training process: holds its rank until FOLDER/go exists, and notes in FOLDER when it lived.

    holder.py FOLDER [--ignore_sigterm]

Its file has the run, round, rank and node, the time when the kernel started it, and every 20 ms the present time. All
times are of CLOCK_BOOTTIME, the same for all processes of a host.

--ignore_sigterm: every second rank lives until SIGKILL.
"""

import json
import os
import pathlib
import signal
import sys
import time


def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def started_at():
    """Rounded up, so that it is not before the process began."""
    with open("/proc/self/stat", "rb") as file:
        ticks = int(file.read().rpartition(b") ")[2].split()[19])
    return (ticks + 1) / os.sysconf("SC_CLK_TCK")


def main():
    folder, rank = pathlib.Path(sys.argv[1]), int(os.environ["RANK"])
    if "--ignore_sigterm" in sys.argv and rank % 2 == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(os.environ["MS_CLUSTER_FILE"]) as file:
        run = json.load(file)["run"]
    name = "run%d.round%s.rank%d.%d.life" % (run, os.environ["MS_ROUND"], rank, os.getpid())
    start = started_at()
    with open(folder / name, "w", buffering=1) as life:
        life.write("%s %.3f\n" % (os.environ["MUSTER_NODE_ID"], start))
        while not (folder / "go").exists():
            life.write("%.3f\n" % boot_time())
            time.sleep(0.02)


if __name__ == "__main__":
    main()
