"""Data-parallel training with PyTorch, in plain torchrun style: nothing in it depends on Muster.

    ms-worker --standalone --local_worker_num 4 -- python train_ddp.py
    ms-worker --standalone --local_worker_num 4 --enable_recovery -- python train_ddp.py --checkpoints ckpt

With --checkpoints it saves its state after each epoch and goes on from the newest checkpoint at every start. All nodes
must see the folder. Needs only PyTorch (1.13 or newer); trains on GPUs if there are any.
"""

import argparse
import os
import pathlib
import re
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

BATCH = 64  # of all ranks together
STEPS_AN_EPOCH = 10


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--checkpoints", type=pathlib.Path, help="folder for checkpoints; without it none are saved")
    parser.add_argument("--step-seconds", type=float, default=0, help="seconds to add to each step")
    parser.add_argument("--exact", action="store_true", help="print each step's loss; a restart changes none of its digits")
    return parser.parse_args()


def newest(folder):
    """Returns the number of finished epochs at the newest checkpoint; 0 if there is none."""
    found = [re.fullmatch(r"epoch_(\d+)\.pt", path.name) for path in folder.glob("epoch_*.pt")]
    return max([int(match.group(1)) for match in found if match] or [0])


def save(folder, epoch, state):
    """Writes under a temporary name first: a half-written file must never look like the newest one."""
    temporary = folder / ("epoch_%d.tmp" % epoch)
    with open(temporary, "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / ("epoch_%d.pt" % epoch))


def batches(epoch, rank, world_size, device):
    """Yields this rank's part of each batch. The epoch determines the data, so each start gets the same."""
    random = torch.Generator().manual_seed(epoch)
    for _ in range(STEPS_AN_EPOCH):
        x = torch.randn(BATCH, 8, generator=random)
        y = x.sum(dim=1, keepdim=True) + torch.sin(x[:, :1])
        yield x[rank::world_size].to(device), y[rank::world_size].to(device)


def main():
    arguments = parse_arguments()
    has_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if has_gpu else "gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if has_gpu else torch.device("cpu")
    if has_gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(1)

    network = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).to(device)
    # DDP packs the gradients in another order after its first step, which changes the last digits of their sums. After a
    # restart it would do so again. With find_unused_parameters it keeps the first order.
    model = DistributedDataParallel(network, find_unused_parameters=arguments.exact)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)

    first = 0
    if arguments.checkpoints:
        arguments.checkpoints.mkdir(parents=True, exist_ok=True)
        # Rank 0 picks the checkpoint, so that all ranks load the same one.
        chosen = torch.tensor([newest(arguments.checkpoints)], device=device)
        dist.broadcast(chosen, 0)
        first = int(chosen.item())
        if first:
            state = torch.load(arguments.checkpoints / ("epoch_%d.pt" % first), map_location=device)
            network.load_state_dict(state["network"])
            optimizer.load_state_dict(state["optimizer"])
            print("rank %d goes on after epoch %d" % (rank, first), flush=True)

    for epoch in range(first, arguments.epochs):
        for step, (x, y) in enumerate(batches(epoch, rank, world_size, device), epoch * STEPS_AN_EPOCH + 1):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if rank == 0 and arguments.exact:
                print("step %d: loss %.9g" % (step, loss.item()), flush=True)
            time.sleep(arguments.step_seconds)
        if rank == 0:
            print("epoch %d: loss %.4f" % (epoch + 1, loss.item()), flush=True)
            if arguments.checkpoints:
                save(arguments.checkpoints, epoch + 1,
                     {"network": network.state_dict(), "optimizer": optimizer.state_dict()})

    dist.barrier()
    if rank == 0:
        print("done", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
