"""A job of MPI's ranks is hit again and again: it ends well, each cause is reported, and nothing is left."""

import os
import re
import signal

import pytest

import processes
from muster import eventually
from test_mpi import left_behind, sums  # noqa: F401 (fixtures)

pytestmark = pytest.mark.xdist_group("mpi")

# Restarts that follow each other wait up to a minute, so 20 of them take a quarter of an hour.
KILLS = 20 if os.environ.get("MUSTER_LONG") == "1" else 3
RANKS_EACH = 2


def shared_memory():
    return {name for name in os.listdir("/dev/shm") if name.startswith("muster-mpi-")}


def folders_of_rounds(cluster, others):
    """The folders that servers keep for their ranks: in shared memory, and in the agents' folders."""
    return list(shared_memory() - others) + [str(path) for path in cluster.runtime.rglob("pmix-*") if path.is_dir()]


def test_kills_in_a_row(cluster, sums, left_behind):  # noqa: F811
    others = shared_memory()
    cluster.start_scheduler("--worker_num", 2 * RANKS_EACH, "--max_restarts", 1000, "--enable_recovery")
    agents = cluster.start_agents(2, ["--local_worker_num", RANKS_EACH, "--max_restarts", 1000],
                                  [sums, "until", KILLS], env={"MS_ENABLE_RECOVERY": 1, "OMPI_MCA_osc": "^rdma"})

    def outputs():
        return "".join(agent.output() for agent in agents)

    for kill in range(KILLS):
        eventually(lambda: outputs().count("sums, restarts %d\n" % kill) == 2 * RANKS_EACH, 90, "all ranks sum")
        assert len(folders_of_rounds(cluster, others)) <= 2 * 2, folders_of_rounds(cluster, others)
        ranks = [process for agent in agents for process in processes.named("sums", agent.pid)]
        assert len(ranks) == 2 * RANKS_EACH, ranks
        os.kill(ranks[kill % len(ranks)].pid, signal.SIGKILL)
    for agent in agents:
        agent.expect(0, timeout=90)
    assert outputs().count("all right, restarts %d\n" % KILLS) == 2 * RANKS_EACH, outputs()
    told = re.findall(r"restarting the processes of job default \(restart \d of \d+\): rank \d on \S+ \(node \S+\) was killed by SIGKILL",
                      cluster.scheduler.output())
    assert len(told) == KILLS, cluster.scheduler.output()
    cluster.scheduler.send(signal.SIGTERM)
    cluster.scheduler.wait(timeout=10)
    cluster.expect_nothing_left(timeout=10)
