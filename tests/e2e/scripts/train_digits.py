"""Trains a small network on scikit-learn's handwritten digits with PyTorch's DistributedDataParallel (gloo, CPU).

Started by any launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Works with PyTorch 1.13 and newer. The
global batch is the same for every number of processes, so the losses are too (exactly enough to compare with
--float64).
"""

import argparse
import json
import os
import signal
import sys
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--steps", type=int, help="end after that many steps (however many epochs these are)")
    parser.add_argument("--step-seconds", type=float, default=0, help="sleep that long in each step")
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--die-at-step", type=int)
    parser.add_argument("--die-rank", type=int, default=0)
    parser.add_argument("--die-how", choices=["kill", "exit", "raise"], default="kill")
    return parser.parse_args()


def dump_environment(rank):
    """For tests: writes what this process received as JSON to $DUMP_ENV_DIR."""
    folder = os.environ.get("DUMP_ENV_DIR")
    if folder:
        with open(os.path.join(folder, "rank_%d.json" % rank), "w") as file:
            json.dump(dict(os.environ), file)


def die(how, step):
    print("made to fail at step %d (%s)" % (step, how), flush=True)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        os._exit(3)
    raise RuntimeError("made to fail at step %d" % step)


def load_digits(dtype):
    import torch
    from sklearn.datasets import load_digits as load
    from sklearn.model_selection import train_test_split

    images, labels = load(return_X_y=True)
    parts = train_test_split(images / 16.0, labels, test_size=0.2, random_state=0, stratify=labels)
    train_x, test_x = (torch.tensor(part, dtype=dtype) for part in parts[:2])
    train_y, test_y = (torch.tensor(part, dtype=torch.long) for part in parts[2:])
    return train_x, train_y, test_x, test_y


def main():
    arguments = parse_arguments()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dump_environment(rank)

    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    dtype = torch.float64 if arguments.float64 else torch.float32
    dist.init_process_group("gloo")
    assert dist.get_rank() == rank and dist.get_world_size() == world_size

    train_x, train_y, test_x, test_y = load_digits(dtype)
    batch_size = 16 * world_size if 128 % world_size else 128
    network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(dtype)
    model = DistributedDataParallel(network)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_of = nn.CrossEntropyLoss()

    steps_an_epoch = len(train_x) // batch_size
    steps = arguments.steps or arguments.epochs * steps_an_epoch
    for step in range(steps):
        epoch, step_in_epoch = divmod(step, steps_an_epoch)
        if step_in_epoch == 0:
            order = torch.randperm(len(train_x), generator=torch.Generator().manual_seed(arguments.seed + epoch))
        if arguments.die_at_step == step and arguments.die_rank == rank:
            die(arguments.die_how, step)
        batch = order[step_in_epoch * batch_size:(step_in_epoch + 1) * batch_size][rank::world_size]
        loss = loss_of(model(train_x[batch]), train_y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step_in_epoch % 10 == 0:
            print("epoch: %d, step: %d, loss is %s" % (epoch, step_in_epoch, loss.item()), flush=True)
        time.sleep(arguments.step_seconds)

    with torch.no_grad():
        accuracy = (network(test_x).argmax(dim=1) == test_y).double().mean().item()
    dist.barrier()
    if rank == 0:
        print("test accuracy: %.4f" % accuracy, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
