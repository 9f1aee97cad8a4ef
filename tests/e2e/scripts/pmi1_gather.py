"""A rank that speaks PMI-1 itself: it puts as many values of 1,000 bytes as its argument says, and measures the time of
the barrier that distributes them."""

import os
import socket
import sys
import time

launcher = socket.socket(fileno=int(os.environ["PMI_FD"])).makefile("rwb")
rank, size, values = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"]), int(sys.argv[1])


def ask(line):
    launcher.write(line.encode() + b"\n")
    launcher.flush()
    return launcher.readline().decode()


assert "rc=0" in ask("cmd=init pmi_version=1 pmi_subversion=1")
assert "barrier_out" in ask("cmd=barrier_in")  # all have started
for i in range(values):
    assert "rc=0" in ask("cmd=put kvsname=k key=r%d_%d value=%s" % (rank, i, str(rank) * 1000))
start = time.monotonic()
assert "barrier_out" in ask("cmd=barrier_in")
full = time.monotonic() - start
start = time.monotonic()
assert "barrier_out" in ask("cmd=barrier_in")
empty = time.monotonic() - start
for other in range(size):
    assert ask("cmd=get kvsname=k key=r%d_%d" % (other, values - 1)).endswith("value=%s\n" % (str(other) * 1000))
assert "rc=0" in ask("cmd=put kvsname=k key=last value=1")
print("rank %d gathered %d values of each in %.3f s; an empty barrier took %.4f s" % (rank, values, full, empty),
      flush=True)
ask("cmd=finalize")
