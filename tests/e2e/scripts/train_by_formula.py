"""Trains like scripts that compute their rank themselves: node rank × processes of a node + local rank.

LOCAL_RANK and WORLD_SIZE come from the environment, --node_rank and --nproc_per_node from the command line.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

words = argparse.ArgumentParser()
words.add_argument("--batch_size", type=int, default=4)
words.add_argument("--epochs", type=int, default=1)
words.add_argument("--learning_rate", type=float, default=0.0001)
words.add_argument("--node_rank", type=int)
words.add_argument("--nproc_per_node", type=int)
given = words.parse_args()

local_rank = int(os.environ.get("LOCAL_RANK", 0))
world_size = int(os.environ.get("WORLD_SIZE", 1))
rank = given.node_rank * given.nproc_per_node + local_rank
dist.init_process_group("gloo", rank=rank, world_size=world_size)

torch.manual_seed(7)
model = DistributedDataParallel(torch.nn.Linear(10, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=given.learning_rate)
for _ in range(given.epochs):
    optimizer.zero_grad()
    model(torch.rand(given.batch_size, 10) + rank).pow(2).mean().backward()
    optimizer.step()

weight = sum(parameter.abs().sum().item() for parameter in model.module.parameters())
print("trained rank=%d of %d device=%d seen=%d weight=%.6f" % (rank, world_size, local_rank,
                                                               given.batch_size * given.epochs, weight), flush=True)
dist.destroy_process_group()
