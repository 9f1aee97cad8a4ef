"""Launchers that start the ranks themselves reach other nodes through the agents, without sshd and ssh."""

import os
import shutil
import signal
import subprocess

import pytest

import processes
from muster import BIN, SCRIPTS, eventually

pytestmark = pytest.mark.xdist_group("mpi")  # they share the machine with the other MPI tests

WITHOUT_TLS = {"MS_TLS_CONFIG": None}

MPIRUN = {"openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--mca", "osc", "^rdma", "--mca", "btl",
                      "tcp,self"], "mpich": ["mpirun.mpich"]}


@pytest.fixture(params=sorted(MPIRUN))
def family(request):
    if shutil.which("mpicc." + request.param) is None:
        pytest.skip("no mpicc.%s (deploy/install-deps.sh --tests)" % request.param)
    return request.param


@pytest.fixture
def sums(family, tmp_path):
    program = tmp_path / "sums"
    subprocess.run(["mpicc." + family, "-O1", "-o", program, SCRIPTS / "mpi_sums.c"], check=True)
    return program


class Nodes:
    """A scheduler, and an agent on each machine. Either agent may get rank 0."""

    def __init__(self, cluster, machines, secured, ranks_each=2):
        self.cluster, self.machines, self.secured = cluster, machines, secured
        self.ranks_each = ranks_each
        folder = secured.folder("scheduler", server=secured.authority.scheduler(hosts=[machines[0].address]),
                                client=secured.authority.admin())
        cluster.start_scheduler("--tls_config", folder.config, "--worker_num", len(machines) * ranks_each,
                                host=machines[0].address, netns=machines[0].name)

    def start_one(self, i, command, *words, **options):
        words = ["--per_job", "--node_rank", i, "--local_worker_num", self.ranks_each, *words]
        return self.secured.start_node("agent%d" % i, command, *words, netns=self.machines[i].name, **options)

    def expect_nothing_left(self):
        """Checks both agents, while the scheduler still runs."""
        def left():
            processes.reap_adopted({program.pid for program in self.cluster.programs})
            return [p for p in self.cluster.descendants() if p.pid != self.cluster.scheduler.pid]
        eventually(lambda: not left(), 15, "every process is gone")

    def start(self, command, *words, **options):
        return [self.start_one(i, command, "--allow_exec", *words, **options) for i in range(len(self.machines))]


@pytest.fixture
def nodes(cluster, network, secured):
    return Nodes(cluster, network.pair(), secured)


def test_mpirun_runs_over_both_nodes(nodes, family, sums):
    first, second = nodes.start([*MPIRUN[family], sums])
    first.expect(0, timeout=60)
    second.expect(0, timeout=30)
    assert first.output().count("of 4: all right") == 4, first.output()
    assert "can't report to the other nodes that the command has ended" not in first.output(), first.output()
    assert "remote command for" in first.output() and "remote command of" in second.output(), second.output()
    nodes.expect_nothing_left()


def test_the_exit_code_is_the_jobs(nodes, family):
    first, second = nodes.start([*MPIRUN[family], "-np", "4", "sh", "-c",
                                 "test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} != 3 || exit 7"])
    first.expect(7, timeout=60)
    assert second.wait(timeout=30) != 0
    nodes.expect_nothing_left()


@pytest.mark.parametrize("family", ["openmpi"], indirect=True)
def test_a_killed_rank_ends_everything(nodes, family, sums):
    first, second = nodes.start([*MPIRUN[family], sums, "checkpoint"])
    # (Open MPI 4.1.4's mpirun may hang if a rank dies in MPI_Init.)
    eventually(lambda: first.output().count(" works") == 4, 30, "ranks run")
    ranks = [p for p in processes.descendants(second.pid) if p.name == "sums"]
    os.kill(ranks[0].pid, signal.SIGKILL)
    assert first.wait(timeout=30) != 0
    assert second.wait(timeout=30) != 0
    assert "failed: rank 0 on" in second.output() and "SIGKILL" in second.output(), first.output() + second.output()
    nodes.expect_nothing_left()


@pytest.mark.parametrize("family", ["openmpi"], indirect=True)
def test_daemons_start_daemons(cluster, network, secured, family, sums):
    """There are four machines: the second one's daemon starts that of the fourth one."""
    nodes = Nodes(cluster, network.star(4), secured, ranks_each=1)
    agents = nodes.start([*MPIRUN[family], "--mca", "plm_rsh_no_tree_spawn", "0", "--mca", "routed", "radix", "--mca",
                          "routed_radix", "2", sums])
    for agent in agents:
        agent.expect(0, timeout=60)
    assert agents[0].output().count("of 4: all right") == 4, agents[0].output()
    assert any("remote command for agent" in agent.output() for agent in agents[1:]), agents[1].output()
    nodes.expect_nothing_left()


@pytest.mark.parametrize("family", ["openmpi"], indirect=True)
def test_a_killed_rank_brings_a_new_round(nodes, family, sums):
    """With recovery mpirun starts again, and nothing of the round before lives; SIGTERM to its agent ends all of it."""
    agents = nodes.start([*MPIRUN[family], sums, "checkpoint"], "--stop_timeout", 5, env={"MS_ENABLE_RECOVERY": 1})
    eventually(lambda: agents[0].output().count(" works") == 4, 30, "ranks run")

    def ranks():
        return {p.pid for agent in agents for p in processes.descendants(agent.pid) if p.name == "sums"}
    before = ranks()
    assert len(before) == 4, before
    os.kill([p for p in processes.descendants(agents[1].pid) if p.name == "sums"][0].pid, signal.SIGKILL)
    eventually(lambda: agents[0].output().count(" works") == 8, 60, "ranks run again")
    assert len(ranks()) == 4 and not ranks() & before, (ranks(), before)
    for agent in agents:  # (the second one waits for the first to come again)
        os.kill(agent.pid, signal.SIGTERM)
        agent.wait(timeout=30)
        eventually(lambda: not ranks(), 15, "no rank runs")
    nodes.expect_nothing_left()


@pytest.mark.parametrize("killed", [0, 1])
@pytest.mark.parametrize("family", ["openmpi"], indirect=True)
def test_a_killed_agent_ends_everything(nodes, family, sums, killed):
    agents = nodes.start([*MPIRUN[family], sums, "hang"])
    eventually(lambda: [p for p in processes.descendants(agents[1].pid) if p.name == "sums"], 30, "ranks run")
    os.kill(agents[killed].pid, signal.SIGKILL)
    agents[killed].wait(timeout=10)
    assert agents[1 - killed].wait(timeout=40) != 0
    cause = [line for line in agents[1 - killed].our_lines() if "failed: " in line]
    assert cause and "agent%d" % killed in cause[-1], agents[1 - killed].output()
    nodes.expect_nothing_left()


def ask(nodes, script, *words, **options):
    """Runs the script on the first node, with the launch agent as ssh."""
    other = nodes.machines[1].address
    return nodes.start(["sh", "-c", script.replace("OTHER", other)], *words, **options)


def test_as_ssh(nodes, tmp_path):
    """Arguments, stdin, exit codes and signals work as a launcher expects; other hosts are left to the next ssh in
    PATH."""
    real_ssh = tmp_path / "bin" / "ssh"
    real_ssh.parent.mkdir()
    real_ssh.write_text("#!/bin/sh\necho real: $*\n")
    real_ssh.chmod(0o755)
    first, second = ask(nodes, """
        ssh -o BatchMode=yes -p 22 me@OTHER -i key -o ConnectTimeout=10 echo "'a;b  \\$x'" \\"q\\" '$((1 + 1))'
        printf 'in\\nput' | ssh OTHER cat; echo " code $?"
        head -c 3000000 /dev/zero | ssh OTHER 'cat; exit 5' | wc -c
        ssh -n OTHER 'kill -9 $$'; echo "killed $?"
        ssh OTHER 'echo where $NODE_RANK $RANK; env | grep -c TLS_'
        timeout -s TERM 1 ssh OTHER 'trap "echo told; exit 9" TERM; while :; do sleep 0.1; done'; echo "ended $?"
        ssh OTHER "ssh 127.0.0.1 echo from here"
        ms-exec nowhere true; echo "refused $?"
        ssh -x -oPort=5 storage -s sftp; ssh -N storage2; ssh -N OTHER; echo "unserved $?"
        echo LINES | ssh -n 127.0.0.1 cat; ssh OTHER yes | head -1
        (timeout -s TERM -k 8 1 ssh OTHER yes; echo "stopped $?" >&2) | sleep 4
        MUSTER_EXEC_TOKEN=stolen ssh OTHER true; echo "stolen $?"
        env | grep -c -E '^(PMI|PMIX)_'; cat $OMPI_MCA_orte_default_hostfile; true""",
                        env={"PMI_RANK": 3, "PATH": "%s:%s" % (real_ssh.parent, os.environ["PATH"])})
    first.expect(0, timeout=60)
    second.expect(0, timeout=30)
    said = first.output()
    for line in ["a;b  $x q 2\n", "in\nput code 0\n", "3000000\n", "killed 137\n", "told\n", "from here\n",
                 "refused 255\n", "stolen 255\n", "\"nowhere\" is no host of this round", "is not this round's",
                 "%s slots=2\n" % nodes.machines[1].address, "real: -x -oPort=5 storage -s sftp\nreal: -N storage2\n",
                 "-N is not supported", "unserved 255\n", "y\n", "stopped 124\n"]:
        assert line in said, (line, said)
    assert "where 1 2\n0\n" in said and "LINES\n" not in said, said
    told = nodes.secured.json("events", netns=nodes.machines[0].name)["events"]
    ran = [event["text"] for event in told if event["kind"] == "remote_command"]
    assert any("node agent1 ran a remote command of \"agent0\" at %s (round 1): " % nodes.machines[0].address in text
               for text in ran), told
    refused = [event["text"] for event in told if event["kind"] == "remote_command_refused"]
    assert refused and "node agent0 refused a remote command of process" in refused[0], told
    assert nodes.secured.count("remote command: WRONG_KEY", netns=nodes.machines[0].name) == 1


def test_as_horovodrun_and_kubeflow_call_it(nodes, tmp_path):
    """The shell lines of Horovod 0.28's runner: its check, a rank of the Gloo kind, and both through
    /etc/mpi/kubexec.sh, which gets POD COMMAND."""
    door = tmp_path / "kubexec.sh"
    door.symlink_to(BIN / "ms-exec")
    start = "ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no OTHER -p 12345 -i /keys/id "
    rank = "'cd /nowhere > /dev/null 2>&1 ; HOROVOD_RANK=1 A='\"'\"'x y'\"'\"' sh -c '\"'\"'echo $0 $HOROVOD_RANK \"$A\"'\"'\"''"
    first, second = ask(nodes, "\n".join([
        start + "-o ConnectTimeout=10 true; echo checked $?",
        start + rank, "%s OTHER true; echo pod $?" % door, "%s OTHER %s" % (door, rank),
        "%s OTHER exit 3; echo code $?" % door, "%s nowhere true; echo unknown $?" % door]))
    first.expect(0, timeout=60)
    second.expect(0, timeout=30)
    for line in ["checked 0\n", "pod 0\n", "code 3\n", "unknown 255\n"]:
        assert line in first.output(), (line, first.output())
    assert first.output().count("sh 1 x y\n") == 2, first.output()


def test_over_ipv6(cluster, network, secured):
    nodes = Nodes(cluster, network.pair(v6=True), secured)
    first, second = ask(nodes, "ssh OTHER 'cat; echo $NODE_RANK; exit 4' < /dev/null; echo code $?; ssh -l me agent1 true")
    first.expect(0, timeout=60)
    second.expect(0, timeout=30)
    assert "1\ncode 4\n" in first.output(), first.output()


def test_without_it_mpirun_is_refused_where_there_is_no_ssh(cluster, tmp_path):
    refused = cluster.start("refused", [BIN / "ms-worker", "--worker_num", 4, "--local_worker_num", 2, "--per_job", "--",
                                        "mpirun", "-H", "a:2,b:2", "true"], env={"PATH": str(tmp_path), **WITHOUT_TLS})
    assert refused.wait(timeout=20) == 2
    assert "ssh is not in PATH here; add --allow_exec" in refused.output(), refused.output()


def test_what_is_left_of_a_command_ends_with_the_job(nodes):
    first, _ = ask(nodes, "ssh OTHER 'setsid sleep 100 > /dev/null 2>&1 < /dev/null &'; echo done")
    first.expect(0, timeout=60)
    nodes.expect_nothing_left()


def test_a_node_without_it_is_named(nodes):
    first = nodes.start_one(0, ["ssh", "x", "true"], "--allow_exec")
    nodes.start_one(1, ["true"])
    assert first.wait(timeout=40) != 0
    assert "these nodes take no remote commands: agent1" in first.output(), first.output()
    assert "--per_job --allow_exec" in first.output(), first.output()


def test_without_tls_it_is_refused_or_warned_of(cluster):
    agent = cluster.start("refused", [BIN / "ms-worker", "--standalone", "--per_job", "--allow_exec", "--", "true"],
                          env=WITHOUT_TLS)
    assert agent.wait(timeout=20) == 2
    assert "any program that reaches this agent's port" in agent.output() and "insecure" in agent.output(), agent.output()
    agent = cluster.start("warned", [BIN / "ms-worker", "--standalone", "--per_job", "--allow_exec=insecure", "--",
                                     "ssh", "localhost", "echo", "here"], env=WITHOUT_TLS)
    agent.expect(0, timeout=20)
    assert "without TLS, any program" in agent.output() and "here\n" in agent.output(), agent.output()


def test_outside_of_a_job_it_says_what_it_is_for():
    done = subprocess.run([BIN / "ms-exec", "node1", "true"], capture_output=True, text=True, timeout=10)
    assert done.returncode == 255 and "--per_job --allow_exec" in done.stderr, done
