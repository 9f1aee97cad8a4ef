"""Ranks share work through the job's store, without any framework: a rank that is done takes the next piece.

    ms-worker --standalone --local_worker_num 3 --enable_recovery -- python3 work_queue.py

Finished pieces stay finished when a rank is killed and all start again: `--piece-seconds 1` leaves time to try it.
"""

import argparse
import time

import muster

PIECES = 12


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--piece-seconds", type=float, default=0.1)
    words = parser.parse_args()
    rank, store = muster.cluster().rank, muster.store()

    done = store.list("done/")  # from earlier rounds
    todo = [piece for piece in range(PIECES) if "done/%d" % piece not in done]
    muster.barrier("begin", timeout=60)  # so that all have the same list
    while True:
        place = store.add("taken") - 1  # no other rank gets this number in this round
        if place >= len(todo):
            break
        piece = todo[place]
        time.sleep(words.piece_seconds)
        store.set("done/%d" % piece, str(piece * piece), lifetime="run")
        print("piece %d is done" % piece, flush=True)

    muster.barrier("end", timeout=60)
    if rank == 0:
        print("the sum is %d" % sum(int(value) for value in store.list("done/").values()), flush=True)


if __name__ == "__main__":
    main()
