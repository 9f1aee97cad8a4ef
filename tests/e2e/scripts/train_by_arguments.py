"""Trains like scripts for torch.distributed.launch: --local_rank names the device, --addr the first node; the port is its own.

Every rank prints its result; rank 0 keeps a checkpoint of each epoch in the working folder.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

words = argparse.ArgumentParser()
words.add_argument("--local_rank", type=int, default=-1)
words.add_argument("--addr", default="127.0.0.1")
given = words.parse_args()

os.environ["MASTER_ADDR"] = given.addr
os.environ["MASTER_PORT"] = "29501"
dist.init_process_group(backend="gloo")
rank = dist.get_rank()

torch.manual_seed(7)
inputs = torch.rand(64, 12)
samples = TensorDataset(inputs, (inputs.sum(dim=1) > 6).long())
sampler = DistributedSampler(samples)
loader = DataLoader(samples, batch_size=8, sampler=sampler)

model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
judge = nn.CrossEntropyLoss()
for epoch in range(2):
    sampler.set_epoch(epoch)
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = judge(model(batch), labels)
        loss.backward()
        optimizer.step()
    if rank == 0:
        torch.save(model.module.state_dict(), "epoch%d.ckpt" % epoch)

weight = sum(parameter.abs().sum().item() for parameter in model.module.parameters())
print("trained rank=%d of %d device=%d seen=%d weight=%.6f" % (rank, dist.get_world_size(), given.local_rank,
                                                               2 * len(sampler), weight), flush=True)
dist.destroy_process_group()
