"""Data-parallel training with JAX. It reads two variables of Muster: its process's number, and the number of processes.

    ms-worker --standalone --local_worker_num 4 -- python train.py
    ms-worker --standalone --local_worker_num 4 --enable_recovery -- python train.py --checkpoints ckpt

With --checkpoints it saves its weights after each epoch, and before the processes are stopped (ms-ctl stop, restart or
drain --now). At every start it goes on from the newest checkpoint. All nodes must see the folder. Needs only JAX
(0.4.38 or newer) and NumPy; trains on the devices that JAX finds.
"""

import argparse
import os
import pathlib
import re
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

BATCH = 64  # of all devices together: a multiple of their number
STEPS_AN_EPOCH = 10


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--checkpoints", type=pathlib.Path, help="folder for checkpoints; without it none are saved")
    parser.add_argument("--step-seconds", type=float, default=0, help="seconds to add to each step")
    return parser.parse_args()


def newest(folder):
    """Returns the number of steps at the newest checkpoint; 0 if there is none."""
    found = [re.fullmatch(r"step_(\d+)\.npz", path.name) for path in folder.glob("step_*.npz")]
    return max([int(match.group(1)) for match in found if match] or [0])


def save(folder, steps, weights):
    """Writes under a temporary name first: a half-written file must never look like the newest one."""
    temporary = folder / ("step_%d.tmp" % steps)
    with open(temporary, "wb") as file:
        np.savez(file, **{name: np.asarray(value) for name, value in weights.items()})
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / ("step_%d.npz" % steps))


def batch(step, process, process_count):
    """Returns this process's part of the step's batch. The step determines the data, so each start gets the same."""
    x = np.random.default_rng(step).standard_normal((BATCH, 8)).astype(np.float32)
    y = x.sum(axis=1, keepdims=True) + np.sin(x[:, :1])
    return np.split(x, process_count)[process], np.split(y, process_count)[process]


def first_weights():
    random = np.random.default_rng(1)
    return {"w1": 0.3 * random.standard_normal((8, 32)).astype(np.float32), "b1": np.zeros(32, np.float32),
            "w2": 0.3 * random.standard_normal((32, 1)).astype(np.float32), "b2": np.zeros(1, np.float32)}


def loss_of(weights, x, y):
    hidden = jax.nn.relu(x @ weights["w1"] + weights["b1"])
    return jnp.mean((hidden @ weights["w2"] + weights["b2"] - y) ** 2)


@jax.jit
def train_step(weights, x, y):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
    return jax.tree_util.tree_map(lambda weight, gradient: weight - 0.02 * gradient, weights, gradients), loss


def main():
    arguments = parse_arguments()
    if "jax_cpu_collectives_implementation" in jax.config.values:  # older JAX has no collectives on CPUs by default
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(num_processes=int(os.environ["JAX_NUM_PROCESSES"]),
                               process_id=int(os.environ["JAX_PROCESS_ID"]))
    process, process_count = jax.process_index(), jax.process_count()

    mesh = Mesh(np.array(jax.devices()), ("data",))
    split, whole = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())

    weights, first = first_weights(), 0
    if arguments.checkpoints:
        arguments.checkpoints.mkdir(parents=True, exist_ok=True)
        # Process 0 picks the checkpoint, so that all processes load the same one.
        first = int(multihost_utils.broadcast_one_to_all(np.int32(newest(arguments.checkpoints))))
        if first:
            with np.load(arguments.checkpoints / ("step_%d.npz" % first)) as saved:
                weights = dict(saved)
            print("process %d goes on after step %d" % (process, first), flush=True)
    weights = {name: jax.make_array_from_process_local_data(whole, value) for name, value in weights.items()}

    steps, all_steps = first, arguments.epochs * STEPS_AN_EPOCH
    for steps in range(first + 1, all_steps + 1):
        x, y = batch(steps, process, process_count)
        weights, loss = train_step(weights, jax.make_array_from_process_local_data(split, x),
                                   jax.make_array_from_process_local_data(split, y))
        time.sleep(arguments.step_seconds)
        # All processes get the same answer: whether to stop now, after the same number of steps.
        stops = multihost_utils.reached_preemption_sync_point(steps)
        is_epoch_done = steps % STEPS_AN_EPOCH == 0
        if process == 0 and is_epoch_done:
            print("epoch %d: loss %.4f" % (steps // STEPS_AN_EPOCH, float(loss)), flush=True)
        if process == 0 and arguments.checkpoints and (is_epoch_done or stops):
            save(arguments.checkpoints, steps, weights)
        if stops:
            break

    jax.distributed.shutdown()
    if process == 0:
        print("done" if steps == all_steps else "stopped after step %d" % steps, flush=True)


if __name__ == "__main__":
    main()
