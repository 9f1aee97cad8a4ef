"""Runs steps with a collective in each on all processes of a JAX job, and saves only where JAX's sync point says so.
Then each process writes FOLDER/STEP/RANK and ends. The next start goes on from the newest step.

checkpoint_jax.py STEPS SECONDS FOLDER [LONG]: each step lasts at least SECONDS, step number LONG 1000 s."""

import os
import pathlib
import sys
import time

import jax
import jax.numpy as jnp

if "jax_cpu_collectives_implementation" in jax.config.values:  # jaxlib 0.4 has none by default
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank, size = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
steps, seconds, folder = int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3])
long_step = int(sys.argv[4]) if len(sys.argv) > 4 else None
jax.distributed.initialize(num_processes=size, process_id=rank)

from jax.experimental import multihost_utils  # noqa: E402

first = max([int(path.name) for path in folder.iterdir()], default=-1) + 1
if first > 0:
    print("rank %d goes on with step %d" % (rank, first), flush=True)
for step in range(first, steps):
    begin = time.monotonic()
    total = multihost_utils.process_allgather(jnp.array([float(step)])).sum()
    assert total == step * size, "all are at the same step"
    if rank == 0:
        print("step %d" % step, flush=True)
    if multihost_utils.reached_preemption_sync_point(step):
        (folder / str(step)).mkdir(exist_ok=True)
        (folder / str(step) / str(rank)).touch()
        print("rank %d stops after step %d" % (rank, step), flush=True)
        jax.distributed.shutdown()
        sys.exit(0)
    time.sleep(1000 if step == long_step else max(0.0, seconds - (time.monotonic() - begin)))

jax.distributed.shutdown()
print("rank %d is done" % rank, flush=True)
