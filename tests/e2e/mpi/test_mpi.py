"""MPI programs start without mpirun: the real MPICH and Open MPI of Debian, compiled here."""

import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest

import processes
from muster import BIN, SCRIPTS, eventually

# The tests look for left files in the machine's /dev/shm.
pytestmark = pytest.mark.xdist_group("mpi")

FAMILIES = ["mpich", "openmpi"]
WITH_MPI4PY = """from mpi4py import MPI
world = MPI.COMM_WORLD
assert world.allreduce(world.rank) == world.size * (world.size - 1) // 2
print("rank %d of %d: all right" % (world.rank, world.size), flush=True)
"""


@pytest.fixture(params=FAMILIES)
def sums(request, tmp_path):
    """The program, linked with one family's library."""
    compiler = shutil.which("mpicc." + request.param)
    if compiler is None:
        pytest.skip("no mpicc.%s (deploy/install-deps.sh --tests)" % request.param)
    program = tmp_path / "sums"
    if request.param == "openmpi" and not (BIN / "ms-pmix").exists():
        pytest.skip("ms-pmix is not built (libpmix-dev)")
    subprocess.run([compiler, "-O1", "-o", program, SCRIPTS / "mpi_sums.c"], check=True)
    return program


@pytest.fixture
def left_behind():
    """Files that MPI libraries keep outside the job's folders: none of them may outlive the test."""
    def look():
        in_tmp = {name for name in os.listdir("/tmp") if name.startswith(("ompi.", "pmix", "muster-agent"))}
        return set(os.listdir("/dev/shm")) | in_tmp
    before = look()
    yield
    assert look() - before == set()


def standalone(cluster, ranks, words, command, name="agent", **options):
    return cluster.start(name, [BIN / "ms-worker", "--standalone", "--local_worker_num", ranks, *words, "--",
                                   *command], **options)


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_on_one_machine(cluster, sums, left_behind, ranks):
    agent = standalone(cluster, ranks, [], [sums])
    agent.expect(0, timeout=60)
    assert agent.output().count("of %d: all right" % ranks) == ranks, agent.output()


@pytest.mark.parametrize("ranks_each", [1, 4])
def test_on_two_machines(cluster, network, sums, left_behind, ranks_each):
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 2 * ranks_each, host=first.address, netns=first.name)
    # Without it, Open MPI 4.1.4's one-sided component for RDMA fails between hosts, under mpirun as well.
    agents = [cluster.start_agent("agent%d" % i, ["--local_worker_num", ranks_each], [sums], netns=machine.name,
                                  env={"OMPI_MCA_osc": "^rdma"})
              for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("of %d: all right" % (2 * ranks_each)) == ranks_each, agent.output()


def test_a_killed_rank_starts_again_with_all_others(cluster, sums, left_behind):
    agent = standalone(cluster, 3, [], [sums, "die_once"], env={"MS_ENABLE_RECOVERY": 1})
    agent.expect(0, timeout=60)
    assert agent.output().count("of 3: all right, restarts 1") == 3, agent.output()


def test_ranks_finish_a_checkpoint(cluster, sums, left_behind):
    """The server stays until the ranks have ended."""
    agent = standalone(cluster, 2, ["--stop_timeout", 20], [sums, "checkpoint"])
    eventually(lambda: agent.output().count(" works") == 2, 20, "ranks run")
    os.kill(agent.pid, signal.SIGTERM)
    agent.wait(timeout=30)
    assert agent.output().count("checkpoint written") == 2, agent.output()
    assert "of 2: all right" in agent.output(), agent.output()


def test_an_abort_is_the_cause(cluster, sums, left_behind):
    agent = standalone(cluster, 2, [], [sums, "abort"])
    agent.expect(5, timeout=30)
    assert "rank 1 on" in agent.lines()[-1] and "MPI_Abort" in agent.lines()[-1], agent.output()


def test_a_rank_that_does_not_finalize_fails(cluster, sums, left_behind):
    agent = standalone(cluster, 2, [], [sums, "no_finalize"])
    agent.expect(1, timeout=30)
    assert "without MPI_Finalize" in agent.output(), agent.output()


def test_a_program_without_mpi_is_left_alone(cluster):
    agent = standalone(cluster, 2, [], ["sh", "-c", "echo pmi=$PMI_RANK"])
    agent.expect(0, timeout=30)
    assert agent.output().count("pmi=\n") == 2, agent.output()


def test_one_that_should_have_it_and_does_not_is_no_success(cluster):
    agent = standalone(cluster, 2, ["--mpi", "pmi1"], ["true"])
    agent.expect(1, timeout=30)
    assert "it ran alone, as rank 0 of 1" in agent.output() and "--mpi none" in agent.output(), agent.output()


def test_ranks_do_not_start_again_one_by_one(cluster):
    agent = standalone(cluster, 2, ["--mpi", "pmi1", "--restart_scope", "worker"], ["true"])
    agent.expect(2, timeout=30)
    assert "restart_scope" in agent.output(), agent.output()


def test_python_with_mpi4py(cluster, network, left_behind):
    pytest.importorskip("mpi4py")
    script = cluster.folder / "train.py"
    script.write_text(WITH_MPI4PY)
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 4, host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2], ["/usr/bin/python3", script],
                                  netns=machine.name) for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("of 4: all right") == 2, agent.output()


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_a_lost_server_fails_the_round(cluster, sums, left_behind):
    agent = standalone(cluster, 2, [], [sums, "hang"])

    def server():
        return [process for process in processes.descendants(agent.pid) if process.name == "ms-pmix"]
    agent.expect_said("round 1")
    found = eventually(server, 10, "ms-pmix runs")
    eventually(lambda: len([p for p in processes.descendants(agent.pid) if p.name == "sums"]) == 2, 10, "ranks run")
    time.sleep(0.5)
    os.kill(found[0].pid, signal.SIGKILL)
    agent.expect(1, timeout=30)
    assert "ms-pmix, has ended" in agent.output(), agent.output()


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_without_the_server_it_is_said(cluster, sums):
    alone = cluster.folder / "bin"
    alone.mkdir()
    shutil.copy(BIN / "ms-worker", alone)
    shutil.copy(BIN / "ms-scheduler", alone)
    agent = cluster.start("agent", [alone / "ms-worker", "--standalone", "--local_worker_num", 2, "--", sums])
    assert agent.wait(timeout=30) != 0
    assert "install libpmix-dev" in agent.output(), agent.output()


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_the_wrong_family_is_no_success(cluster, sums):
    agent = standalone(cluster, 2, ["--mpi", "pmi1"], [sums])
    agent.expect(1, timeout=30)
    assert "it ran alone, as rank 0 of 1" in agent.output(), agent.output()


def test_a_jobs_machines_for_other_launchers(cluster):
    cluster.start_scheduler("--worker_num", 2)
    cluster.start_agent("agent", ["--local_worker_num", 2], ["sleep", "100"])
    cluster.wait_until_running(2)
    assert cluster.ctl("hostfile") == "127.0.0.1 slots=2\n"
    assert cluster.ctl("hostfile", "--form", "mpich") == "127.0.0.1:2\n"
    assert cluster.ctl("hostfile", "default", "--form", "horovod") == "127.0.0.1:2\n"


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_nothing_is_left_of_a_killed_agent(cluster, sums, left_behind):
    agent = standalone(cluster, 2, [], [sums, "hang"])
    agent.expect_said("round 1")
    eventually(lambda: any(name.startswith("muster-mpi-") and os.listdir("/dev/shm/" + name)
                           for name in os.listdir("/dev/shm")), 10, "ranks share memory")
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait(timeout=10)
    eventually(lambda: not any(name.startswith("muster-mpi-") for name in os.listdir("/dev/shm")), 10, "it is gone")


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_the_next_start_removes_what_was_left(cluster, sums, left_behind):
    def folders():
        return {"/dev/shm/" + name for name in os.listdir("/dev/shm") if name.startswith("muster-mpi-")}
    before = folders()
    agent = standalone(cluster, 2, [], [sums, "hang"])
    eventually(lambda: any(os.listdir(folder) for folder in folders() - before), 10, "ranks share memory")
    mine = folders() - before
    for folder in mine:
        os.utime(folder, (1, 1))
    standalone(cluster, 1, [], [sums], name="beside").expect(0, timeout=30)
    assert mine <= folders(), "it is in use"
    processes.kill_together(agent.pid, "ms-pmix")
    agent.wait(timeout=10)
    eventually(lambda: not processes.named("ms-pmix"), 10, "the server is gone")
    for folder in mine & folders():
        os.utime(folder, (1, 1))
    standalone(cluster, 1, [], [sums], name="next").expect(0, timeout=30)
    assert not mine & folders()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_another_user_can_not_speak_with_the_server(cluster, sums, left_behind):
    agent = standalone(cluster, 2, [], [sums, "checkpoint"])
    eventually(lambda: agent.output().count(" works") == 2, 20, "ranks run")
    rank = next(process for process in processes.descendants(agent.pid) if process.name == "sums")
    with open("/proc/%d/environ" % rank.pid, encoding="utf-8") as file:
        uri = re.search(r"PMIX_SERVER_URI\w*=[^\0]*tcp4://127.0.0.1:(\d+)", file.read())
    for user, is_let_in in [(65534, False), (0, True), (65534, False)]:
        code = ("import os, socket; os.setuid(%d); s = socket.create_connection(('127.0.0.1', %s)); s.settimeout(1)\n"
                "try: print(s.recv(1))\nexcept socket.timeout: print('waits')\nexcept OSError: print(b'')"
                % (user, uri.group(1)))
        said = subprocess.run(["/usr/bin/python3", "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert (said == "waits\n") == is_let_in, (user, said)
    os.kill(agent.pid, signal.SIGTERM)
    agent.wait(timeout=30)
    assert agent.output().count("of 2: all right") == 2, agent.output()
    assert agent.output().count("refused a connection") == 1, agent.output()


@pytest.mark.parametrize("sums", ["mpich"], indirect=True)
def test_a_command_that_hides_its_use_of_mpi_is_warned(cluster, sums):
    agent = standalone(cluster, 2, [], ["sh", "-c", "program=$(echo %s); $program hang" % sums])
    eventually(lambda: "--mpi pmi1 on every node" in agent.output(), 20, "the warning")
    os.kill(agent.pid, signal.SIGTERM)
    agent.wait(timeout=30)


def test_the_look_behind_wrappers(cluster, sums):
    script = cluster.folder / "train.sh"
    script.write_text("#!/bin/sh\nexec nice -n 1 %s\n" % sums)
    script.chmod(0o755)
    agent = standalone(cluster, 2, [], ["env", "A=1", script])
    agent.expect(0, timeout=30)
    assert agent.output().count("of 2: all right") == 2, agent.output()


def test_mpi4py_of_mpich_needs_no_server_of_open_mpis(cluster):
    """ms-pmix exists, but its library does not."""
    alone = cluster.folder / "bin"
    alone.mkdir()
    shutil.copy(BIN / "ms-worker", alone)
    shutil.copy(BIN / "ms-scheduler", alone)
    (alone / "ms-pmix").write_text("#!/bin/sh\nexit 127\n")
    (alone / "ms-pmix").chmod(0o755)
    agent = cluster.start("agent", [alone / "ms-worker", "--standalone", "--local_worker_num", 1, "--",
                                    "/usr/bin/python3", "-c", "import os; print('pmi', os.environ['PMI_RANK'])",
                                    "mpi4py"])
    eventually(lambda: "pmi 0" in agent.output(), 20, "it starts")
    agent.wait(timeout=30)
    assert "it needs libpmix2" in agent.output(), agent.output()


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
def test_jobs_beside_each_other_do_not_mix(cluster, sums, left_behind):
    agents = [cluster.start("agent%d" % i, [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--", sums])
              for i in range(2)]
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("of 2: all right") == 2, agent.output()


@pytest.mark.parametrize("sums", ["openmpi"], indirect=True)
@pytest.mark.parametrize("async_modex", [0, 1])
def test_ranks_that_ask_for_each_other(cluster, sums, left_behind, async_modex):
    """The fence has no data: each rank asks for those of its peers.

    With async_modex a rank may ask for one on its machine in the very moment in which that one has sent all. Debian's libpmix
    4.2.2 then answers that there is nothing, under mpirun, too (19 of 90 starts beside two busy loops)."""
    cluster.start_scheduler("--worker_num", 4)
    env = {"OMPI_MCA_pmix_base_collect_data": 0, "OMPI_MCA_pmix_base_async_modex": async_modex, "OMPI_MCA_osc": "^rdma"}
    for attempt in range(5 if async_modex else 1):
        words = ["--local_worker_num", 2, "--job_id", "attempt%d" % attempt]
        agents = [cluster.start_agent("agent%d.%d" % (attempt, i), words, [sums], env=env) for i in range(2)]
        codes = [agent.wait(timeout=60) for agent in agents]
        said = "".join(agent.output() for agent in agents)
        if 'Returned "Not found" (-13)' not in said:
            break
    assert codes == [0, 0], said
    assert said.count("of 4: all right") == 4, said


def test_ranks_with_much_data(cluster):
    """The store carries their data: 4 MB in all."""
    cluster.start_scheduler("--worker_num", 4)
    agents = [cluster.start_agent("agent%d" % i, ["--machine", "m%d" % i, "--mpi", "pmi1"],
                                  ["/usr/bin/python3", SCRIPTS / "pmi1_gather.py", 1000]) for i in range(4)]
    for agent in agents:
        agent.expect(0, timeout=60)
    print([line for agent in agents for line in agent.lines() if "gathered" in line])


def test_names_are_published(cluster, network, tmp_path):
    """Only Open MPI's; Debian's MPICH publishes names in files of its own."""
    compiler = shutil.which("mpicc.openmpi")
    if compiler is None or not (BIN / "ms-pmix").exists():
        pytest.skip("no mpicc.openmpi, or no ms-pmix")
    program = tmp_path / "names"
    subprocess.run([compiler, "-O1", "-o", program, SCRIPTS / "mpi_names.c"], check=True)
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 4, host=first.address, netns=first.name)
    agents = [cluster.start_agent("agent%d" % i, ["--local_worker_num", 2], [program], netns=machine.name)
              for i, machine in enumerate((first, second))]
    for agent in agents:
        agent.expect(0, timeout=60)
        assert agent.output().count("of 4: all right") == 2, agent.output()


@pytest.mark.parametrize("ranks,most_mib", [(1_000, 32), (10_000, 128), pytest.param(100_000, 1024, marks=pytest.mark.skipif(
    os.environ.get("MUSTER_LONG") != "1", reason="MUSTER_LONG=1 runs it"))])
def test_the_server_of_a_large_job_stays_small(tmp_path, ranks, most_mib):
    """The ms-pmix of one agent among many, with 8 ranks each."""
    if not (BIN / "ms-pmix").exists():
        pytest.skip("no ms-pmix")
    ours, theirs = socket.socketpair()
    with theirs:
        server = subprocess.Popen([BIN / "ms-pmix"], stdin=theirs)
    agents = ["agent=" + ",".join(str(rank) for rank in range(first, first + 8)) for first in range(0, ranks, 8)]
    setup = "\n".join(["nspace=large", "folder=%s" % tmp_path, "memory=", "own=0", *agents, ""]).encode()
    with ours:
        ours.settimeout(60)
        begin = time.monotonic()
        ours.sendall(struct.pack("<I", len(setup)) + b"S" + setup)
        assert ours.recv(5, socket.MSG_WAITALL)[4:] == b"R"  # pmix/frames.h
        took = time.monotonic() - begin
        peak = next(line for line in open("/proc/%d/status" % server.pid) if line.startswith("VmHWM"))
    server.wait(timeout=20)
    print("%d ranks: %s kB at most, ready in %.2f s" % (ranks, peak.split()[1], took))
    assert int(peak.split()[1]) < most_mib * 1024
