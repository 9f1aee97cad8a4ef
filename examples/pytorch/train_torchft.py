"""Training with torchft: if a replica group dies, the other groups go on, and it starts again with their state.

Each replica group is a job. On one machine, start `ms-scheduler`, and then, in two more terminals:

    ms-worker --sched_host 127.0.0.1 --job_id train-0 --lighthouse train -- python3 examples/pytorch/train_torchft.py
    ms-worker --sched_host 127.0.0.1 --job_id train-1 --lighthouse train -- python3 examples/pytorch/train_torchft.py

Then kill one of the two Python processes. With --enable_recovery it starts again, and gets the other one's state.
Checkpoints (--checkpoints FOLDER) are only needed if all groups die. Needs torch 2.7 and torchft 0.2.
"""
import argparse
import os
import pathlib
import time
from datetime import timedelta

import torch
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo


def batch(step, features=16, classes=4, size=64):
    """Returns the step's batch, the same for all groups. A linear model can separate its classes."""
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(size, features, generator=generator)
    return x, x[:, :classes].argmax(dim=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--step-seconds", type=float, default=0, help="seconds to add to each step")
    parser.add_argument("--checkpoints", type=pathlib.Path, help="folder for checkpoints; without it none are saved")
    arguments = parser.parse_args()
    group = os.environ["MS_JOB_ID"]
    torch.manual_seed(1)
    model = torch.nn.Linear(16, 4)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)

    def state():
        return {"model": model.state_dict(), "optimizer": adam.state_dict()}

    def load(saved):
        model.load_state_dict(saved["model"])
        adam.load_state_dict(saved["optimizer"])

    manager = Manager(pg=ProcessGroupGloo(timeout=timedelta(seconds=10)), min_replica_size=1, load_state_dict=load, state_dict=state,
                      replica_id=group, timeout=timedelta(seconds=10), quorum_timeout=timedelta(seconds=60))
    file = None if arguments.checkpoints is None else arguments.checkpoints / (group + ".pt")
    if file is not None and file.exists():
        saved = torch.load(file)
        load(saved)
        manager.load_state_dict(saved["manager"])
    trained = DistributedDataParallel(manager, model)
    optimizer = Optimizer(manager, adam)
    while manager.current_step() < arguments.steps:
        x, y = batch(manager.current_step())
        optimizer.zero_grad()  # begins the quorum: torchft finds out which groups take part in this step
        loss = torch.nn.functional.cross_entropy(trained(x), y)
        loss.backward()
        optimizer.step()  # changes the weights only if all groups of the quorum have reached this line
        step = manager.current_step()
        print("step %d: loss %.4f with %d" % (step, loss.item(), manager.num_participants()), flush=True)
        if file is not None and step % 20 == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
            torch.save({**state(), "manager": manager.state_dict()}, file.with_suffix(".new"))
            file.with_suffix(".new").replace(file)
        time.sleep(arguments.step_seconds)
    manager.shutdown(wait=False)


main()
