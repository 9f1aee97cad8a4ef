"""A replica of one process, like one with torchft's Manager: it asks for a quorum at each step, and prints the result.

    torchft_replica.py CORE SECONDS_A_STEP
"""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))

import torchft  # noqa: E402

os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # its core prints each step there
replica = torchft.Replica(torchft.load(sys.argv[1]), "replica-" + os.environ["RANK"], os.environ["TORCHFT_LIGHTHOUSE"])
step = 0
while True:
    begin = time.monotonic()
    got = replica.quorum(step, timeout=30)
    took = time.monotonic() - begin
    if got is None:
        print("no quorum within %.1f s" % took, flush=True)
        continue
    if got["heal"]:
        step = got["max_step"]
    print("step %d quorum %d rank %d of %d after %.2f s" % (step, got["quorum_id"], got["rank"], got["world"], took), flush=True)
    step += 1
    time.sleep(float(sys.argv[2]))
