"""torchrun: kill -9 of one process of a job of N agents -> all old processes gone, all new ones begun.

    torchrun.py --agents 8

Real torchrun agents with a process each, c10d rendezvous on the first, --max-restarts 3 and the defaults of PyTorch
2.13. The processes are worker.sh, which takes part in no collective: the measurement does not rely on survivors that
fail by themselves, as in a real job, and the start of the processes costs next to nothing.
"""

import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from forked import leave_dns_out  # noqa: E402
from measuring import Server, become_main, end_gently, free_ports  # noqa: E402
from restarts import Notes, kill_one  # noqa: E402

WORKER = pathlib.Path(__file__).resolve().parents[1] / "worker.sh"


def measure():
    leave_dns_out()
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=8)
    options = parser.parse_args()
    port, = free_ports(1)
    with tempfile.TemporaryDirectory(prefix="muster-bench-") as folder:
        notes = Notes(pathlib.Path(folder) / "notes")
        env = dict(os.environ, BENCH_NOTES=notes.path, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", options.agents, "--nproc-per-node", 1,
                 "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:%d" % port, "--rdzv-id", "bench",
                 "--max-restarts", 3, "--no-python", WORKER]
        agents = [Server(words, env=env) for _ in range(options.agents)]
        try:
            stopped, restarted, _ = kill_one(notes, options.agents)
        finally:
            for agent in agents:
                end_gently(agent.popen)
    return {"measure": "restart", "subject": "torchrun", "agents": options.agents, "stopped_seconds": stopped,
            "restarted_seconds": restarted, "seconds": restarted}


if __name__ == "__main__":
    become_main(measure)
