"""Ranks share work through the job's store, without any framework: a rank that has finished a piece takes the next one.

    ms-worker --standalone --local_worker_num 3 --enable_recovery -- python3 work_queue.py

If a rank is killed, all ranks start again, but do no finished piece twice. Try it: `--piece-seconds 1` leaves you time.
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

    done = store.list("done/")  # pieces that were finished in earlier rounds
    todo = [piece for piece in range(PIECES) if "done/%d" % piece not in done]
    muster.barrier("begin", timeout=60)  # no rank goes on before all have read `done`, so all have the same list
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
