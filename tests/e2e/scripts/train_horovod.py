"""Uses Horovod's own collectives and its optimizer. With the argument "die_once" the last rank kills itself before the
first restart."""

import os
import signal
import sys

import horovod.torch as hvd
import torch

hvd.init()
rank, size = hvd.rank(), hvd.size()
assert hvd.gloo_enabled() and not hvd.mpi_enabled()
assert hvd.allreduce(torch.ones(4) * (rank + 1), op=hvd.Sum).tolist() == [size * (size + 1) / 2] * 4
assert hvd.allgather(torch.tensor([rank])).tolist() == list(range(size))
assert hvd.broadcast_object({"from": rank}, root_rank=size - 1) == {"from": size - 1}

if sys.argv[1:] == ["die_once"] and os.environ.get("MS_RESTART_COUNT") == "0" and rank == size - 1:
    os.kill(os.getpid(), signal.SIGKILL)

torch.manual_seed(rank)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
weights = hvd.allgather(model.weight.detach())
assert torch.equal(weights, weights[:1].expand_as(weights)), "all ranks have the same weights"
print("rank %d of %d, local %d of %d, cross %d of %d: trained, restarts %s" % (
    rank, size, hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size(),
    os.environ.get("MS_RESTART_COUNT")), flush=True)
hvd.shutdown()
