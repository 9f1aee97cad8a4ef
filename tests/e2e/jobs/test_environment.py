"""The surroundings of a training process: environment, placeholders, cluster file, logs, CPUs, ports."""

import json
import os
import re
import resource
import socket

import pytest

from muster import BIN, eventually

PRINT_ENV = ["python3", "-c", "import json, os; open('env%s.json' % os.environ['RANK'], 'w')"
             ".write(json.dumps(dict(os.environ)))"]


def run_job(cluster, words, command, nodes=1, slots=1, env=None, numbered=True):
    cluster.start_scheduler("--once", "--worker_num", nodes * slots)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", nodes * slots, "--local_worker_num", slots,
                                                  *(["--node_id", "node%d" % i] if numbered else []), *words],
                                  command, env=env) for i in range(nodes)]
    for agent in agents:
        agent.expect(0)
    cluster.scheduler.expect(0)
    return agents


def environments(cluster, count):
    return [json.loads((cluster.folder / ("env%d.json" % rank)).read_text()) for rank in range(count)]


def test_what_pytorch_needs(cluster):
    run_job(cluster, ["--job_id", "train"], PRINT_ENV, nodes=2, slots=2)
    for rank, env in enumerate(environments(cluster, 4)):
        expected = {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": 4, "GROUP_RANK": 0,
                    "GROUP_WORLD_SIZE": 1, "NODE_RANK": 0, "NNODES": 1, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": 4,
                    "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RESTART_COUNT": 0, "TORCHELASTIC_RUN_ID": "train",
                    "MS_ROUND": 1, "MS_RESTART_COUNT": 0, "MS_JOB_ID": "train", "MUSTER_NODE_ID": "node%d" % (rank // 2)}
        assert {name: env.get(name) for name in expected} == {name: str(value) for name, value in expected.items()}
        assert 1024 <= int(env["MASTER_PORT"]) <= 65535
        for name in ("ROLE_NAME", "TORCHELASTIC_MAX_RESTARTS", "OMP_NUM_THREADS", "MS_CLUSTER_FILE"):
            assert name in env, name


def test_machines_are_distinguished_by_name_when_asked_to(cluster):
    cluster.start_scheduler("--once", "--worker_num", 4)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--node_id", "n%d" % i,
                                                  "--machine", "m%d" % i], PRINT_ENV) for i in range(2)]
    for agent in agents:
        agent.expect(0)
    told = [(env["RANK"], env["LOCAL_RANK"], env["NODE_RANK"], env["NNODES"]) for env in environments(cluster, 4)]
    assert told == [("0", "0", "0", "2"), ("1", "1", "0", "2"), ("2", "0", "1", "2"), ("3", "1", "1", "2")]


def test_node_rank_orders_the_nodes(cluster):
    cluster.start_scheduler("--once", "--worker_num", 3)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 3, "--node_rank", 2 - i], ["sh", "-c", "echo r=$RANK"])
              for i in range(3)]
    for i, agent in enumerate(agents):
        agent.expect(0)
        assert "r=%d" % (2 - i) in agent.output(), agent.output()


def test_ids_are_sorted_with_their_digits_as_numbers(cluster):
    cluster.start_scheduler("--once", "--worker_num", 3)
    names = ["node10", "node9", "node1"]
    agents = [cluster.start_agent(name, ["--worker_num", 3, "--node_id", name], ["sh", "-c", "echo r=$RANK"])
              for name in names]
    for agent, rank in zip(agents, (2, 1, 0)):
        agent.expect(0)
        assert "r=%d" % rank in agent.output(), agent.output()


def test_the_cluster_file_lists_everyone(cluster):
    run_job(cluster, [], ["sh", "-c", "cp $MS_CLUSTER_FILE cluster$RANK.json"], nodes=2, slots=2)
    for rank in range(4):
        told = json.loads((cluster.folder / ("cluster%d.json" % rank)).read_text())
        assert told["round"] == 1
        text = json.dumps(told)
        assert "node0" in text and "node1" in text and "127.0.0.1" in text, text


def test_placeholders_are_filled_in(cluster):
    agents = run_job(cluster, [], ["echo", "r={rank}/{world_size} l={local_rank}/{nproc_per_node} n={node_rank}/{nnodes} "
                                   "m={master_addr}:{master_port}"], nodes=2, slots=1)
    port = re.search(r"m=127\.0\.0\.1:(\d+)", agents[0].output()).group(1)
    for rank, agent in enumerate(agents):
        assert re.search(r"r=%d/2 l=%d/\d n=0/1 m=127\.0\.0\.1:%s" % (rank, rank, port), agent.output()), agent.output()


def test_logs_and_lines_with_their_rank(cluster):
    logs = cluster.folder / "logs"
    agents = run_job(cluster, ["--log_dir", logs, "--tail", "1"], ["sh", "-c", "echo out of $RANK; echo err >&2"],
                     slots=2)
    for rank in range(2):
        assert (logs / ("worker_%d.log" % rank)).read_text() == "out of %d\nerr\n" % rank
    assert "[rank 1] out of 1" in agents[0].lines(), agents[0].output()
    assert "out of 0" not in agents[0].output()


def test_several_slots_without_a_log_folder_are_distinguished(cluster):
    agents = run_job(cluster, [], ["sh", "-c", "echo hello"], slots=2)
    hellos = [line for line in agents[0].lines() if line.endswith("hello")]
    assert len(hellos) == 2 and len(set(hellos)) == 2, agents[0].output()


def test_per_node_starts_one_process(cluster):
    agents = run_job(cluster, ["--per_node"], ["sh", "-c", "echo started with $LOCAL_WORLD_SIZE"], slots=3)
    assert agents[0].output().count("started with 3") == 1, agents[0].output()


def test_without_a_command_there_is_nothing_to_do(cluster):
    for words, told in (([], "there is no command to start; usage: ms-worker [settings] -- COMMAND"),
                        (["--print_assignment", "--", "true"], "print_assignment starts nothing")):
        agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", *words])
        agent.expect(2)
        assert told in agent.output() and "{" not in agent.output(), agent.output()


def test_the_assignment_is_printed_as_json(cluster):
    cluster.start_scheduler("--worker_num", 2)
    agents = cluster.start_agents(2, ["--worker_num", 2])
    for agent in agents:
        agent.expect(0)
        json_text = agent.output()[agent.output().index("{"):]
        told, _ = json.JSONDecoder().raw_decode(json_text)
        assert told, agent.output()


def test_a_users_master_port_is_honoured(cluster):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run_job(cluster, [], PRINT_ENV, env={"MASTER_PORT": port})
    assert environments(cluster, 1)[0]["MASTER_PORT"] == str(port)


def test_the_master_port_can_be_listened_on_by_rank_0(cluster):
    listen = ["python3", "-c", "import os, socket; s = socket.socket(); "
              "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); "
              "s.bind(('127.0.0.1', int(os.environ['MASTER_PORT']))); s.listen(); print('listening')"]
    agents = run_job(cluster, ["--torch_store", "rank0"], listen)
    assert "listening" in agents[0].lines(), agents[0].output()


def test_ports_come_from_the_range(cluster):
    run_job(cluster, ["--port_range", "23000-23100"], PRINT_ENV)
    assert 23000 <= int(environments(cluster, 1)[0]["MASTER_PORT"]) <= 23100


def test_env_overrides_and_inherited_identity_does_not(cluster):
    agents = run_job(cluster, ["--env", "COLOUR=red"], PRINT_ENV, env={"RANK": "77", "OMP_NUM_THREADS": "5"})
    env = environments(cluster, 1)[0]
    assert (env["COLOUR"], env["RANK"], env["OMP_NUM_THREADS"]) == ("red", "0", "5")
    assert re.search(r"RANK.*77|77.*RANK", agents[0].output()), "one line says so:\n" + agents[0].output()


@pytest.mark.skipif(os.cpu_count() < 2, reason="one CPU")
def test_cpu_binding(cluster):
    show = ["python3", "-c", "import os; print('cpus', sorted(os.sched_getaffinity(0)))"]
    agents = run_job(cluster, ["--bind_core", "0:0;1:1"], show, slots=2)
    assert "cpus [0]" in agents[0].output() and "cpus [1]" in agents[0].output(), agents[0].output()


@pytest.mark.skipif(os.cpu_count() < 2, reason="one CPU")
def test_cpu_binding_of_several_agents_on_a_machine(cluster):
    show = ["python3", "-c", "import os; print('cpus', sorted(os.sched_getaffinity(0)))"]
    agents = run_job(cluster, ["--bind_core", "0:0;1:1"], show, nodes=2)
    assert "cpus [0]" in agents[0].output() and "cpus [1]" in agents[1].output(), agents[1].output()


def test_standalone_needs_nothing_else(cluster):
    agent = cluster.start("agent", ["ms-worker", "--standalone", "--local_worker_num", "2", "--", *PRINT_ENV])
    agent.expect(0)
    assert [env["WORLD_SIZE"] for env in environments(cluster, 2)] == ["2", "2"]
    cluster.expect_nothing_left()


def test_a_job_within_a_job_is_one_of_its_own(cluster):
    """Variables that a process inherited from the outer job do not count as the user's settings; those that the user
    set do."""
    inner = ["ms-worker", "--standalone", "--local_worker_num", "3", "--", "python3", "-c",
             "import os; print('inner', *[os.environ.get(n) for n in %r.split()])" %
             "WORLD_SIZE MS_JOB_ID MASTER_PORT CUDA_VISIBLE_DEVICES COLOUR HOROVOD_SIZE MS_WORKER_NUM"]
    outer = ("import os, subprocess; print('outer', os.environ['MASTER_PORT'], flush=True); "
             "os.environ.update(%%s); os._exit(subprocess.run(%r).returncode)" % inner)
    for name, own in (("alone", {}), ("named", {"MS_JOB_ID": "evaluation", "MASTER_PORT": "23456"})):
        agent = cluster.start(name, ["ms-worker", "--standalone", "--job_id", "train", "--env", "COLOUR=red",
                                     "--", "python3", "-c", outer % own], env={"CUDA_VISIBLE_DEVICES": "5"})
        agent.expect(0, timeout=40)
        port = re.search(r"^outer (\d+)", agent.output(), re.M).group(1)
        lines = [line.split()[-7:] for line in agent.lines() if " inner " in line]
        assert len(lines) == 3, agent.output()
        for size, job, master_port, devices, colour, horovod, number in lines:
            assert (size, horovod, number, colour, devices) == ("3", "3", "3", "red", "5"), agent.output()
            assert job == own.get("MS_JOB_ID", "default") and master_port != port, agent.output()
            assert master_port == own.get("MASTER_PORT", master_port), agent.output()
        assert "was replaced" not in agent.output(), agent.output()
    cluster.expect_nothing_left()


def test_with_scheduler_one_line_everywhere_is_enough(cluster, network):
    machine = network.machine()
    agents = [cluster.start("agent%d" % i, ["ms-worker", "--with_scheduler", "--worker_num", "2", "--", "true"],
                            netns=machine.name) for i in range(2)]
    for agent in agents:
        agent.expect(0)
    cluster.expect_nothing_left(timeout=5)


def test_parameter_servers_have_ranks_of_their_own(cluster):
    cluster.start_scheduler("--once", "--worker_num", 2, "--server_num", 1)
    words = ["--worker_num", 2, "--server_num", 1]
    command = ["sh", "-c", "echo $MS_ROLE $RANK"]
    agents = [cluster.start_agent("worker%d" % i, [*words, "--node_id", "w%d" % i], command) for i in range(2)]
    agents.append(cluster.start_agent("server", [*words, "--node_id", "s"], command, env={"MS_ROLE": "MS_PSERVER"}))
    for agent, expected in zip(agents, ("MS_WORKER 0", "MS_WORKER 1", "MS_PSERVER 0")):
        agent.expect(0)
        assert expected in agent.lines(), agent.output()


def test_the_agent_raises_its_own_limit_of_open_files_only(cluster):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (300, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

    cluster.start_scheduler("--once", "--worker_num", 1)
    agent = cluster.start_agent("agent", ["--worker_num", 1],
                                ["sh", "-c", "ulimit -Sn > soft; while [ ! -e go ]; do sleep 0.1; done"], limits=few)
    soft = cluster.folder / "soft"
    eventually(lambda: soft.exists() and soft.read_text(), 20, "the process reports its limit")
    assert soft.read_text() == "300\n"
    of_agent, hard = resource.prlimit(agent.pid, resource.RLIMIT_NOFILE)
    assert of_agent == min(hard, 1 << 20), "about seven for each slot"
    (cluster.folder / "go").touch()
    agent.expect(0)


def test_agents_that_share_a_server_of_a_rank_table_have_their_own_devices(cluster):
    devices = [{"device_id": str(4 + i), "device_ip": "192.168.1.%d" % i, "rank_id": str(i)} for i in range(4)]
    table = cluster.folder / "table.json"
    table.write_text(json.dumps({"version": "1.0", "status": "completed", "server_count": "1",
                                 "server_list": [{"server_id": "127.0.0.1", "device": devices}]}))
    run_job(cluster, ["--rank_table_file", table, "--worker_ip", "127.0.0.1"], PRINT_ENV, nodes=2, slots=2)
    assert [env["DEVICE_ID"] for env in environments(cluster, 4)] == ["4", "5", "6", "7"]
