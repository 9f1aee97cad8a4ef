"""kill -9 of a training process, of an agent, of a keeper: which programs notice, how fast, and their messages."""

import os
import re
import shutil
import signal
import time

import pytest

import processes
from muster import BIN, EXIT_FAILED_ELSEWHERE, EXIT_SCHEDULER_LOST, TRAIN, eventually, free_port, kill_now

# Prints, then waits, with a child of its own.
CHILD = ["sh", "-c", "echo hello from $RANK; sleep 1000 & sleep 1000; wait"]


def start(cluster, command, nodes=2, slots=2, *words):
    scheduler = cluster.start_scheduler("--worker_num", nodes * slots)
    agents = [cluster.start_agent("agent%d" % i,
                                  ["--worker_num", nodes * slots, "--local_worker_num", slots, "--node_id", "n%d" % i,
                                   "--log_dir", cluster.folder / ("logs%d" % i), *words], command)
              for i in range(nodes)]
    ranks = cluster.wait_until_running(nodes * slots, timeout=60)
    return scheduler, agents, ranks


def below(agent):
    """All processes that an agent's keeper has started, grandchildren too."""
    return [process for process in processes.descendants(agent.pid) if process.name not in processes.OWN]


def ignores(pid, number):
    with open("/proc/%d/status" % pid) as file:
        mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigIgn"))
    return bool(mask >> (number - 1) & 1)


def test_a_killed_process_ends_the_job_and_is_named_everywhere(cluster, measured):
    scheduler, agents, ranks = start(cluster, CHILD)
    logs = [cluster.folder / ("logs%d" % i) / ("worker_%d.log" % (2 * i + slot)) for i in range(2) for slot in range(2)]
    eventually(lambda: all("hello" in log.read_text() for log in logs if log.exists()) and
               all(log.exists() for log in logs), 30, "every process has printed its line")
    victim = next(rank for rank in ranks if rank["rank"] == 1)
    killed = kill_now(victim["pid"])
    codes = [agent.wait(10) for agent in agents]
    measured("from the kill to the last agent's end", time.monotonic() - killed, at_most=1)
    assert codes == [128 + 9, EXIT_FAILED_ELSEWHERE], cluster.describe()
    eventually(lambda: "SIGKILL" in scheduler.output() or "signal 9" in scheduler.output(), 5, "the log names the signal")
    for program in agents + [scheduler]:
        told = program.tail(25)
        assert re.search(r"rank 1\b", told), told
        assert re.search(r"SIGKILL|signal 9", told), told
        assert victim["host_name"] in told, told
        assert "hello from 1" in told, told
    run = cluster.ctl_json("status")["runs"][0]
    assert run["phase"] == "failed"
    cause = run["outcome"]["cause"]
    assert (cause["rank"], cause["signal"], cause["kind"]) == (1, 9, "process_signaled"), cause
    assert cause["last_lines"] == ["hello from 1"], cause
    assert cause["text"] in agents[0].tail(30) and cause["text"] in agents[1].tail(30)
    for i in range(2):
        assert cause["text"] in (cluster.folder / ("logs%d" % i) / "failure.json").read_text()


def test_survivors_that_ignore_sigterm_are_killed_after_the_stop_timeout(cluster, measured):
    ignores_sigterm = ["python3", "-c",
                       "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1000)"]
    _, agents, ranks = start(cluster, ignores_sigterm, 2, 2, "--stop_timeout", 2)
    eventually(lambda: all(ignores(rank["pid"], signal.SIGTERM) for rank in ranks), 30, "every process ignores SIGTERM")
    killed = kill_now(ranks[0]["pid"])
    codes = [agent.wait(15) for agent in agents]
    took = time.monotonic() - killed
    assert codes == [128 + 9, EXIT_FAILED_ELSEWHERE], cluster.describe()
    assert took >= 2
    measured("from the kill to the last agent's end with a stop_timeout of 2 s", took, at_most=3)


def test_a_real_job_of_pytorch_whose_rank_dies(cluster, any_torch):
    scheduler = cluster.start_scheduler("--once", "--worker_num", 2)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2, "--node_id", i],
                                  [any_torch, TRAIN, "--die-at-step", 20, "--die-rank", 1, "--die-how", "raise"])
              for i in range(2)]
    assert [agent.wait(60) for agent in agents] == [EXIT_FAILED_ELSEWHERE, 1], cluster.describe()
    scheduler.expect(1)
    for agent in agents:
        assert re.search(r"rank 1\b", agent.tail(30)) and "made to fail at step 20" in agent.tail(30), agent.output()


@pytest.mark.parametrize("code", [3, 255])
def test_an_exit_code_is_passed_on(cluster, code):
    scheduler = cluster.start_scheduler("--once", "--worker_num", 2)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2, "--node_id", i],
                                  ["sh", "-c", "[ $RANK = 1 ] && exit %d; sleep 1000" % code]) for i in range(2)]
    assert [agent.wait(20) for agent in agents] == [EXIT_FAILED_ELSEWHERE, code], cluster.describe()
    scheduler.expect(1)
    assert re.search(r"(exit )?code %d\b" % code, agents[0].tail(10)), agents[0].output()


@pytest.mark.parametrize("program, code", [("no-such-program-here", 127), ("./none/train", 127), ("/etc/passwd", 126)])
def test_a_program_that_cant_be_started_is_named_before_the_join(cluster, program, code):
    cluster.start_scheduler("--worker_num", 1)
    agent = cluster.start_agent("agent", ["--worker_num", 1], [program])
    agent.expect(code)
    assert program in agent.our_lines()[-1] and len(agent.our_lines()) == 1, agent.output()
    assert cluster.phase() is None, cluster.describe()


def test_a_program_that_the_rank_names_is_looked_for_when_the_ranks_are_known(cluster):
    cluster.start_scheduler("--once", "--worker_num", 1)
    agent = cluster.start_agent("agent", ["--worker_num", 1], ["no-such-program-{rank}"])
    agent.expect(127)
    assert "no-such-program-0" in agent.tail(10), agent.output()


@pytest.mark.parametrize("who", ["agent", "guardian", "keeper"])
def test_a_killed_agent_or_keeper_leaves_no_process_and_fails_the_job(cluster, measured, who):
    scheduler, agents, _ = start(cluster, CHILD)
    time.sleep(0.5)
    children = below(agents[0])
    assert len(children) >= 6, "shells and their children: %s" % (children,)
    victim = agents[0].pid
    if who != "agent":
        victim = processes.named("ms-" + who, agents[0].pid)[0].pid
    killed = kill_now(victim)
    eventually(lambda: not any(processes.is_alive(child.pid) for child in children), 5, "the children are gone")
    measured("until the children are gone", time.monotonic() - killed, at_most=1)
    eventually(lambda: re.search(r"n0\b", "\n".join(scheduler.our_lines()[-3:])) and cluster.phase() != "running", 10,
               "the death is reported")
    measured("until the death is reported", time.monotonic() - killed, at_most=2)
    assert agents[1].wait(10) == EXIT_FAILED_ELSEWHERE, agents[1].output()
    assert "n0" in agents[1].tail(5), agents[1].output()
    assert agents[0].wait(10) != 0
    eventually(lambda: cluster.phase() == "failed", 5, "the job has failed")
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0)
    cluster.expect_nothing_left()


@pytest.mark.parametrize("spared", ["ms-guardian", "ms-keeper", "ms-shim"])
def test_each_of_agent_guardian_keeper_and_shim_ends_the_processes_alone(cluster, spared):
    """Also ends the shell's own children, which know no agent: a spare may have the ranks by now."""
    _, agents, _ = start(cluster, CHILD, nodes=1, slots=2)
    eventually(lambda: len(processes.named("sleep", agents[0].pid)) == 4, 10, "the shells have started their own")
    children = below(agents[0])
    processes.kill_together(agents[0].pid, *{"ms-guardian", "ms-keeper", "ms-shim"} - {spared})
    eventually(lambda: not any(processes.is_alive(child.pid) for child in children), 3, "the children are gone")


def test_a_grandchild_that_left_its_group_is_ended_too(cluster):
    scheduler, agents, _ = start(cluster, ["sh", "-c", "setsid sleep 1000 & sleep 1000; wait"], 1, 1)
    time.sleep(0.5)
    agents[0].send(signal.SIGTERM)
    agents[0].wait(10)
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0)
    cluster.expect_nothing_left()


def test_the_same_line_again_ends_what_the_killed_ones_left(cluster):
    """The shell's children know no agent. The node's next start may not run the same rank beside them."""
    cluster.start_scheduler("--worker_num", 1, "--enable_recovery", 1)
    line = (["--worker_num", 1, "--enable_recovery", 1, "--node_id", "n0"], CHILD)
    first = cluster.start_agent("first", *line)
    cluster.wait_until_running(1)
    eventually(lambda: len(processes.named("sleep", first.pid)) == 2, 10, "the shell has started its own")
    left = [process.pid for process in processes.named("sleep", first.pid)]
    processes.kill_together(first.pid, "ms-guardian", "ms-keeper", "ms-shim")
    first.expect(128 + signal.SIGKILL)
    second = cluster.start_agent("second", *line)
    second.expect_said(r"round \d")  # before that, the scheduler may still name the first one's process
    assert not [pid for pid in left if processes.is_alive(pid)], second.tail()
    assert len(processes.named("sleep", second.pid)) <= 2


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
def test_what_runs_on_as_another_user_is_not_vouched_for(cluster):
    """A change of the user clears PR_SET_PDEATHSIG. Rank 0 outlives its agent and keeper, and may not live twice."""
    cluster.start_scheduler("--worker_num", 1, "--enable_recovery", 1)
    line = (["--worker_num", 1, "--enable_recovery", 1, "--node_id", "n0"],
            ["setpriv", "--reuid", "65534", "--clear-groups", "sleep", "1000"])
    first = cluster.start_agent("first", *line)
    cluster.wait_until_running(1)
    eventually(lambda: processes.named("sleep", first.pid), 10, "it has changed its user")
    left = processes.named("sleep", first.pid)[0].pid
    processes.kill_together(first.pid, "ms-guardian", "ms-keeper", "ms-shim")
    second = cluster.start_agent("second", *line)
    second.expect_said(r"pid %d \(sleep of uid 65534, by its mark, not this user's to kill\)" % left, timeout=20)
    second.expect_said("it asks to try again later", timeout=20)
    assert processes.is_alive(left) and "round" not in second.output(), second.tail()
    kill_now(left)
    cluster.ctl("fence", "n0")
    second.expect_said("round 2", timeout=20)


def test_a_reader_of_stderr_that_is_stuck_holds_nothing_up(cluster):
    """Its pipe was full before the first line."""
    cluster.start_scheduler("--worker_num", 1, "--once")
    words = [str(word) for word in cluster.agent_words()]
    agent = cluster.start("agent", ["bash", "-c", "exec 2> >(exec sleep 1000); head -c 65536 /dev/zero >&2; exec \"$@\"", "-",
                                    str(BIN / "ms-worker"), *words, "--worker_num", "1", "--", "sh", "-c", "sleep 3"])
    agent.expect(0, timeout=30)
    cluster.scheduler.expect(0)


def own_scheduler(agent):
    return next(process.pid for process in processes.descendants(agent.pid) if process.name == "ms-scheduler")


UNTIL_GO = ["sh", "-c", "echo up; while [ ! -e go ]; do sleep 0.05; done"]


def test_a_killed_scheduler_of_the_agents_own_ends_a_standalone_job_at_once(cluster):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--", *UNTIL_GO])
    eventually(lambda: agent.output().count("up") == 2, 20, "both run")
    scheduler = own_scheduler(agent)
    kill_now(scheduler)
    agent.expect(EXIT_SCHEDULER_LOST, timeout=5)
    assert "the ms-scheduler that this agent started was killed by SIGKILL (pid %d)" % scheduler in agent.output()
    assert "start the job again" in agent.output()
    cluster.expect_nothing_left()


def test_a_killed_scheduler_of_the_agents_own_is_started_again_where_it_has_a_journal(cluster):
    agent = cluster.start("agent", [BIN / "ms-worker", "--with_scheduler", "--sched_host", "127.0.0.1:%d" % free_port(),
                                    "--worker_num", 2, "--local_worker_num", 2, "--journal_path", "journal.db", "--",
                                    *UNTIL_GO])
    eventually(lambda: agent.output().count("up") == 2, 20, "both run")
    before = below(agent)
    kill_now(own_scheduler(agent))
    agent.expect_said(r"was killed by SIGKILL \(pid \d+\): started again \(pid \d+, 1 of at most 3 times\)")
    agent.expect_said("again", timeout=20)
    assert {process.pid for process in before} & {process.pid for process in below(agent)}, "no process starts again"
    (cluster.folder / "go").touch()
    agent.expect(0)
    assert agent.output().count("up") == 2, agent.output()
