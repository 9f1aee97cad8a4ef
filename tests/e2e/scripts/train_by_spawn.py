"""Starts its processes itself, with torch.multiprocessing.spawn; the command line of each node says which node it
is."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def work(index, given):
    rank = given.node * given.devices + index
    dist.init_process_group("gloo", rank=rank, world_size=given.nodes * given.devices)
    torch.manual_seed(7)
    model = DistributedDataParallel(torch.nn.Linear(10, 5))
    model(torch.rand(4, 10) + rank).pow(2).mean().backward()
    weight = sum(parameter.grad.abs().sum().item() for parameter in model.module.parameters())
    print("trained rank=%d of %d device=%d seen=4 weight=%.6f" % (rank, dist.get_world_size(), index, weight), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    words = argparse.ArgumentParser()
    words.add_argument("--nodes", type=int)
    words.add_argument("--node", type=int)
    words.add_argument("--devices", type=int)
    given = words.parse_args()
    mp.spawn(work, nprocs=given.devices, args=(given,))
