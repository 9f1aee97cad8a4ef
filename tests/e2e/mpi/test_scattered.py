"""Eight ranks on four machines in a rank table's order, so that neighbours in rank are on different machines."""

import json
import shutil

import pytest

from muster import SCRIPTS
from test_mpi import left_behind, sums  # noqa: F401 (fixtures)

pytestmark = pytest.mark.xdist_group("mpi")

RANKS = [[0, 5], [3, 6], [1, 7], [2, 4]]  # the ranks of each machine
# Without it, Open MPI 4.1.4's one-sided component for RDMA fails between hosts, under mpirun as well.
ENV = {"OMPI_MCA_osc": "^rdma"}


@pytest.fixture(params=["IPv4", "IPv6"])
def run(request, cluster, network):
    """Starts the command in all ranks, with one agent on each machine except the first, which has two; waits for the
    end."""
    def start(command):
        machines = network.star(len(RANKS), v6=request.param == "IPv6")
        servers = [{"server_id": machine.address,
                    "device": [{"device_id": str(i), "device_ip": "192.168.1.%d" % rank, "rank_id": str(rank)}
                               for i, rank in enumerate(ranks)]} for machine, ranks in zip(machines, RANKS)]
        table = cluster.folder / "table.json"
        table.write_text(json.dumps({"version": "1.0", "status": "completed", "server_count": str(len(servers)),
                                     "server_list": servers}))
        cluster.start_scheduler("--worker_num", 8, host=machines[0].address, netns=machines[0].name)
        places = [(machines[0], 1), (machines[0], 1)] + [(machine, 2) for machine in machines[1:]]
        agents = [cluster.start_agent("agent%d" % i, ["--local_worker_num", slots, "--rank_table_file", table,
                                                      "--worker_ip", machine.address],
                                      command, netns=machine.name, env=ENV)
                  for i, (machine, slots) in enumerate(places)]
        for agent, (_, slots) in zip(agents, places):
            agent.expect(0, timeout=60)
            assert agent.output().count("of 8: all right") == slots, agent.output()
        assert "ranks 3,6 of 8" in agents[2].output().replace(" and ", ","), agents[2].output()
    return start


def test_a_program_in_c(cluster, sums, left_behind, run):  # noqa: F811
    run([sums, "file", cluster.folder / "file"])


def test_a_program_in_python(cluster, left_behind, run):  # noqa: F811
    pytest.importorskip("mpi4py")
    if shutil.which("mpicc.openmpi") is None:
        pytest.skip("Debian's mpi4py is built for Open MPI")
    run(["/usr/bin/python3", SCRIPTS / "mpi_sums.py", cluster.folder / "file"])
