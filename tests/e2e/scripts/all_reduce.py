"""Adds up ranks over gloo, and prints what the process received from its launcher."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(total)
print("sum=%d master=%s scheduler=%s interface=%s" % (
    total.item(), os.environ["MASTER_ADDR"], os.environ["MS_SCHED_HOST"], os.environ.get("GLOO_SOCKET_IFNAME", "-")),
    flush=True)
dist.destroy_process_group()
