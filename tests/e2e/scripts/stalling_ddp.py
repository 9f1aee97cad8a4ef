"""Trains with PyTorch's DistributedDataParallel over gloo, prints its steps, and stands still in one of several ways.

It knows nothing of Muster. --kind says how rank --rank (or all ranks) stands still at --step, in rounds up to --rounds:

  loop         in an endless loop of Python
  loader       asleep in its data loader
  fifo         in a read of a FIFO that nobody writes
  stopped      stopped by SIGSTOP
  collective   all ranks spin in C inside a function of the same name, as inside a collective
  vfork        in uninterruptible sleep: the parent of a vfork whose child sleeps
  never        all ranks, before the first step
  none         no rank: it trains --steps steps, with the pauses and lines that real jobs have
"""

import argparse
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--kind", default="none")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--step", type=int, default=5)
parser.add_argument("--steps", type=int, default=10**9)
parser.add_argument("--rounds", type=int, default=10**9)
parser.add_argument("--folder", type=pathlib.Path, default=".")
parser.add_argument("--printer", type=int, default=-1, help="the only rank that prints; -1: all")
parser.add_argument("--pause", type=float, default=0, help="seconds at step 5")
parser.add_argument("--evaluation", type=float, default=0, help="seconds of other lines at step 5")
parser.add_argument("--epoch", type=int, default=0, help="steps after which the number falls back to 1")
parser.add_argument("--bar", action="store_true", help="a progress bar instead of lines")
parser.add_argument("--pace", type=float, default=0.1)
options = parser.parse_args()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
round_number = int(os.environ.get("MS_ROUND", "1"))
stalls = options.kind != "none" and round_number <= options.rounds


def spin_in_c():
    """A loop in native code that holds the processor, as libraries do that wait actively for a device."""
    source, library = options.folder / ("spin%d.c" % rank), options.folder / ("spin%d.so" % rank)
    source.write_text("void spin(void) { for (;;) __asm__ volatile(\"\"); }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library)).spin


def all_reduce_on_a_device(spin):
    spin()


def stand_still(kind):
    if kind == "loop":
        count = 0
        while True:
            count += 1
    if kind == "fifo":
        path = options.folder / "fifo"
        os.mkfifo(path)
        open(path).read()
    if kind == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if kind == "vfork":
        library = options.folder / "vforks.so"
        source = options.folder / "vforks.c"
        source.write_text("#include <unistd.h>\nvoid vforks(void) { if (vfork() == 0) { sleep(1000); _exit(0); } }\n")
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", library, source], check=True)
        ctypes.CDLL(str(library)).vforks()
    time.sleep(1000)


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 40

    def __getitem__(self, index):
        if stalls and options.kind == "loader" and rank == options.rank and index >= options.step:
            time.sleep(1000)
        return torch.full((4,), float(index % 7))


model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
spin = spin_in_c() if options.kind == "collective" else None
data = iter(torch.utils.data.DataLoader(Data(), batch_size=1))
prints = options.printer in (-1, rank)
if stalls and options.kind == "never":
    dist.barrier()
    time.sleep(1000)
for step in range(1, options.steps + 1):
    batch = next(data)
    optimizer.zero_grad()
    if stalls and step == options.step:
        if options.kind == "collective":
            all_reduce_on_a_device(spin)
        elif rank == options.rank and options.kind != "loader":
            stand_still(options.kind)
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    if step == 5:
        time.sleep(options.pause)
        until = time.monotonic() + options.evaluation
        while time.monotonic() < until:
            print("evaluation: accuracy %.3f" % loss.item(), flush=True)
            time.sleep(0.2)
    shown = (step - 1) % options.epoch + 1 if options.epoch else step
    if prints and options.bar:
        sys.stderr.write("\r%3d%%|####      | %d/1000 [00:10<00:12,  4.41it/s]" % (shown // 10, shown))
        sys.stderr.flush()
    elif prints:
        print("step %d loss %.5f" % (shown, loss.item()), flush=True)
    time.sleep(options.pace)
dist.barrier()
dist.destroy_process_group()
