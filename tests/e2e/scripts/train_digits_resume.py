"""Trains on scikit-learn's handwritten digits like train_digits.py, and goes on where it was when it is started again.

It follows docs/frameworks/checkpoints.md. Rank 0 writes a checkpoint at the end of each epoch, and one more when it is
asked to stop. It writes under a temporary name and renames the file when it is complete. Every start loads the newest
checkpoint. All is in float64, with a fixed seed and one bucket of gradients, so that a disturbed run ends with the loss of an
undisturbed one.
"""

import argparse
import os
import pathlib
import re
import signal
import sys
import time

NAME = re.compile(r"step_(\d+)\.pt$")


class Stop:
    """Notes whether one of the signals of --stop-signals has asked this process to stop."""

    def __init__(self, names):
        self.signal = None
        for name in names:
            signal.signal(getattr(signal, "SIG" + name), self.note)

    def note(self, number, _frame):
        # Sets only a flag, because the optimizer may be half-way through a step here. Training looks between two steps.
        self.signal = signal.Signals(number)
        os.write(1, b"told to stop by %s\n" % self.signal.name.encode())


class Checkpoints:
    """Files step_<n>.pt, each written after n steps, in a folder that all nodes see."""

    def __init__(self, folder, slow_seconds):
        self.folder, self.slow_seconds = pathlib.Path(folder), slow_seconds
        self.folder.mkdir(parents=True, exist_ok=True)

    def newest(self):
        """The number of steps of the newest checkpoint; 0 if there is none."""
        return max([int(match.group(1)) for match in map(NAME.match, os.listdir(self.folder)) if match] or [0])

    def path(self, step):
        return self.folder / ("step_%d.pt" % step)

    def write(self, step, state):
        import torch
        temporary = self.folder / ("step_%d.%d.tmp" % (step, os.getpid()))
        with open(temporary, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        time.sleep(self.slow_seconds)
        os.rename(temporary, self.path(step))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", required=True, help="folder for them")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--step-seconds", type=float, default=0.01, help="sleep that long in each step")
    parser.add_argument("--checkpoint-seconds", type=float, default=0, help="take that much longer to write one")
    parser.add_argument("--stop-signals", nargs="*", default=["TERM"], help="upon these a checkpoint is written")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Training:
    """The model and everything else that a checkpoint holds."""

    def __init__(self, arguments, rank, world_size):
        import torch
        from sklearn.datasets import load_digits
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel

        self.torch, self.seed, self.rank, self.world_size = torch, arguments.seed, rank, world_size
        images, labels = load_digits(return_X_y=True)
        self.x = torch.tensor(images / 16.0, dtype=torch.float64)
        self.y = torch.tensor(labels, dtype=torch.long)
        self.batch_size = 128
        self.steps_an_epoch = len(self.x) // self.batch_size
        self.network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).double()
        self.model = DistributedDataParallel(self.network, bucket_cap_mb=100)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-2)
        self.loss_of = nn.CrossEntropyLoss()

    def step(self, step):
        """Runs one step and returns this rank's loss. If it raises, network and optimizer are as they were before."""
        torch = self.torch
        epoch, place = divmod(step, self.steps_an_epoch)
        order = torch.randperm(len(self.x), generator=torch.Generator().manual_seed(self.seed + epoch))
        batch = order[place * self.batch_size:(place + 1) * self.batch_size][self.rank::self.world_size]
        loss = self.loss_of(self.model(self.x[batch]), self.y[batch])
        self.optimizer.zero_grad()
        loss.backward()  # the ranks' gradients meet here; it raises if one of them is gone
        self.optimizer.step()
        return loss.item()

    def state(self):
        return {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load(self, path):
        state = self.torch.load(path)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])

    def loss(self):
        """The loss over all pictures; the same on every rank."""
        with self.torch.no_grad():
            return self.loss_of(self.network(self.x), self.y).item()


def main():
    arguments = parse_arguments()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    me = "rank %d round %s restart %s" % (rank, os.environ.get("MS_ROUND"), os.environ.get("MS_RESTART_COUNT"))
    print("%s: pid %d starts" % (me, os.getpid()), flush=True)

    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    dist.init_process_group("gloo")
    training = Training(arguments, rank, world_size)
    checkpoints = Checkpoints(arguments.checkpoints, arguments.checkpoint_seconds)

    # Rank 0 decides which checkpoint it is, so that all begin with the same one.
    newest = torch.tensor([checkpoints.newest()])
    dist.broadcast(newest, 0)
    first = saved = int(newest.item())
    if first:
        training.load(checkpoints.path(first))
    print("%s: goes on after step %d" % (me, first), flush=True)

    # Set only now: Python runs a handler between its own instructions, not while torch waits for a peer that never
    # comes.
    stop = Stop(arguments.stop_signals)
    steps, step, ended = arguments.epochs * training.steps_an_epoch, first, []

    def save():
        nonlocal saved
        if rank == 0 and step > saved:
            checkpoints.write(step, training.state())
            saved = step
            print("%s: checkpoint after step %d written" % (me, step), flush=True)

    try:
        while step < steps and not stop.signal:
            loss = training.step(step)
            step += 1
            time.sleep(arguments.step_seconds)
            ended.append(time.monotonic())
            took = (ended[-1] - ended[-2]) * 1000 if len(ended) > 1 else 0
            epoch = (step - 1) // training.steps_an_epoch
            print("%s: epoch %d step %d loss %r took %.1f ms" % (me, epoch, step, loss, took), flush=True)
            if step % training.steps_an_epoch == 0:
                save()
    except RuntimeError as error:  # a peer is gone
        print("%s: step %d: %s" % (me, step + 1, error), flush=True)
        save()
        if not stop.signal:
            raise
    if stop.signal and step < steps:
        save()
        return 128 + stop.signal

    dist.barrier()
    gaps = [after - before for before, after in zip(ended[2:], ended[3:])]
    print("%s: longest gap between steps: %.1f ms" % (me, 1000 * max(gaps or [0])), flush=True)
    print("%s: final loss %r" % (me, training.loss()), flush=True)
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
