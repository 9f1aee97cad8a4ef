"""Trains a line with JAX on all processes of a job, each on its own part of the data, and prints the losses.

train_jax.py STEPS [SECONDS]: each step lasts at least SECONDS."""

import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

if "jax_cpu_collectives_implementation" in jax.config.values:  # jaxlib 0.4 has none by default
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
rank, size = int(os.environ["JAX_PROCESS_ID"]), int(os.environ["JAX_NUM_PROCESSES"])
jax.distributed.initialize(num_processes=size, process_id=rank)

from jax.experimental import multihost_utils  # noqa: E402

steps, seconds = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
print("process %d of %d sees %d devices" % (jax.process_index(), jax.process_count(), jax.device_count()), flush=True)
ranks = multihost_utils.process_allgather(jnp.array([float(rank)]))
print("sum of ranks is %d" % int(ranks.sum()), flush=True)

x = jnp.asarray(np.random.default_rng(rank).standard_normal((64, 4)), jnp.float32)
y = x @ jnp.array([1.0, -2.0, 3.0, 0.5])
loss_and_gradient = jax.jit(jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2)))
w = jnp.zeros(4)
for step in range(steps):
    begin = time.monotonic()
    loss, gradient = loss_and_gradient(w)
    w = w - 0.1 * multihost_utils.process_allgather(gradient[None]).reshape(size, 4).mean(axis=0)
    if rank == 0:
        print("step %d, loss is %.6f" % (step, float(loss)), flush=True)
    with open(os.environ.get("MS_PROGRESS_FILE", os.devnull), "w") as file:
        file.write(str(step))
    time.sleep(max(0.0, seconds - (time.monotonic() - begin)))

jax.distributed.shutdown()
print("process %d is done" % rank, flush=True)
