"""SIGTERM and Ctrl-C: everything ends, without orphans, with the right codes."""

import os
import pty
import re
import shutil
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest

import processes
from muster import BIN, EXIT_FAILED_ELSEWHERE, EXIT_SCHEDULER_LOST, EXIT_STOPPED, eventually, free_port

UNTIL_GO = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]
CHILD = ["sh", "-c", "sleep 1000 & sleep 1000; wait"]
IGNORES_SIGNALS = ["python3", "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
                   "signal.signal(signal.SIGINT, signal.SIG_IGN); print('ready', flush=True); time.sleep(1000)"]


def start(cluster, command, *words):
    scheduler = cluster.start_scheduler("--worker_num", 2)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 2, "--node_id", "n%d" % i, *words], command)
              for i in range(2)]
    cluster.wait_until_running(2)
    return scheduler, agents


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_to_an_agent_ends_it_and_the_job(cluster, name):
    number = getattr(signal, name)
    scheduler, agents = start(cluster, CHILD)
    agents[0].send(number)
    agents[0].expect(128 + number, timeout=10)
    agents[1].expect(EXIT_STOPPED if name == "SIGINT" else EXIT_FAILED_ELSEWHERE, timeout=10)
    assert re.search(r"n0\b", agents[1].tail(5)), agents[1].output()
    eventually(lambda: cluster.phase() == ("stopped" if name == "SIGINT" else "failed"), 5, "the job has ended")
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0)
    cluster.expect_nothing_left()


def test_sigterm_to_the_scheduler_ends_a_job_that_it_can_not_remember(cluster):
    scheduler, agents = start(cluster, CHILD)
    scheduler.send(signal.SIGTERM)
    for agent in agents:
        agent.expect(EXIT_SCHEDULER_LOST, timeout=20)
        assert "scheduler" in agent.tail(5), agent.output()
    scheduler.expect(0, timeout=20)
    cluster.expect_nothing_left()


def test_sigterm_to_an_idle_scheduler(cluster):
    scheduler = cluster.start_scheduler()
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0, timeout=10)


def test_ctrl_c_in_a_terminal(cluster):
    cluster.start_scheduler("--worker_num", 1)
    master, slave = pty.openpty()

    def own_terminal():
        os.setsid()
        import fcntl
        import termios
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    words = [str(word) for word in [BIN / "ms-worker", *cluster.agent_words(), "--worker_num", 1, "--", *CHILD]]
    agent = subprocess.Popen(words, env=cluster.env, stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal)
    os.close(slave)
    cluster.wait_until_running(1)
    os.write(master, b"\x03")
    assert agent.wait(10) == 128 + signal.SIGINT
    os.close(master)
    cluster.scheduler.send(signal.SIGTERM)
    cluster.scheduler.expect(0)
    cluster.expect_nothing_left()


def test_a_child_that_ignores_sigterm_is_killed_after_the_stop_timeout(cluster, measured):
    scheduler, agents = start(cluster, IGNORES_SIGNALS, "--stop_timeout", 2)
    for agent in agents:
        agent.expect_said("ready")
    begin = time.monotonic()
    agents[0].send(signal.SIGTERM)
    agents[0].expect(128 + signal.SIGTERM, timeout=10)
    agents[1].expect(EXIT_FAILED_ELSEWHERE, timeout=10)
    took = time.monotonic() - begin
    assert took >= 2
    # An agent reports its departure when its processes are gone; only then the others begin to stop theirs.
    measured("two agents in turn whose children ignore SIGTERM and a stop_timeout of 2 s", took, at_most=2 * 2 + 1)
    scheduler.send(signal.SIGTERM)
    scheduler.expect(0)
    cluster.expect_nothing_left()


def test_a_second_signal_kills_at_once(cluster):
    _, agents = start(cluster, IGNORES_SIGNALS)
    for agent in agents:
        agent.expect_said("ready")
    agents[0].send(signal.SIGINT)
    time.sleep(1)
    assert agents[0].is_running(), "the children have 30 s"
    agents[0].send(signal.SIGINT)
    agents[0].wait(5)
    eventually(lambda: not processes.descendants(agents[0].pid), 2, "its children are gone")


def test_a_batch_systems_notice_to_all_processes_ends_no_process(cluster):
    """Slurm's --signal may reach each process of a step: agent, keeper, shims, and the scheduler of --standalone."""
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--", "python3", "-c",
                                    "import os, signal, time\n"
                                    "signal.signal(signal.SIGUSR1, lambda *_: print('saved', flush=True))\n"
                                    "print('ready', flush=True)\n"
                                    "while not os.path.exists('go'): time.sleep(0.1)"])
    eventually(lambda: agent.output().count("ready") == 2, 20, "both wait")
    for process in processes.descendants(agent.pid):
        os.kill(process.pid, signal.SIGUSR1)
    agent.send(signal.SIGUSR1)
    eventually(lambda: agent.output().count("saved") >= 2, 10, "both have heard it")
    (cluster.folder / "go").touch()
    agent.expect(0)


SAVES = """
import multiprocessing, os, sys, time
def work(queue):
    while True: queue.put(1); time.sleep(0.01)
if __name__ == "__main__":
    queue = multiprocessing.Queue(4)
    workers = [multiprocessing.Process(target=work, args=(queue,), daemon=True) for _ in range(2)]
    for worker in workers: worker.start()
    queue.get()
    print("training", flush=True)
    try:
        while True: queue.get()
    except KeyboardInterrupt:
        time.sleep(0.5)
        open("saved.%d" % os.getpid(), "w").write("1")
"""
CTRL_C = {  # the number of ranks that save
    "plain": (2, ["--local_worker_num", 2], ["python3", "train.py"]),
    "shell": (2, ["--local_worker_num", 2], ["bash", "train.sh"]),
    "nohup": (1, ["--local_worker_num", 1], ["nohup", "python3", "train.py"]),
    "per_node": (2, ["--local_worker_num", 2, "--per_node"], [
        "python3", "-c", "import subprocess; [p.wait() for p in [subprocess.Popen(['bash', 'train.sh']) for _ in '12']]"]),
}


@pytest.mark.parametrize("kind", CTRL_C)
def test_a_script_saves_on_ctrl_c(cluster, kind):
    """From a terminal, the script gets SIGINT together with all of its process group."""
    count, words, command = CTRL_C[kind]
    (cluster.folder / "train.py").write_text(SAVES)
    (cluster.folder / "train.sh").write_text("python3 train.py; exit $?")
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", *words, "--", *command])
    eventually(lambda: agent.output().count("training") == count, 30, "all train")
    agent.send(signal.SIGINT)
    agent.expect(128 + signal.SIGINT, timeout=9)  # SIGTERM would come at 10 s, a third of stop_timeout
    assert len(list(cluster.folder.glob("saved.*"))) == count, agent.output()
    cluster.expect_nothing_left()


def test_ctrl_c_with_mpirun(cluster):
    if shutil.which("mpirun.openmpi") is None:
        pytest.skip("no mpirun.openmpi (deploy/install-deps.sh --tests)")
    agent = cluster.start("agent", [
        BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--per_job", "--", "mpirun.openmpi",
        "--allow-run-as-root", "--oversubscribe", "-np", 2, "sh", "-c", "echo training; sleep 1000"])
    eventually(lambda: agent.output().count("training") == 2, 30, "both train")
    agent.send(signal.SIGINT)
    agent.expect(128 + signal.SIGINT, timeout=20)
    cluster.expect_nothing_left()


def test_a_stop_signal_of_the_users_replaces_ctrl_c(cluster):
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--stop_signal", "TERM", "--", "python3", "-c", (
        "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('term', flush=True)))\n"
        "print('ready', flush=True)\ntry: time.sleep(1000)\nexcept KeyboardInterrupt: print('int', flush=True)")])
    agent.expect_said("ready", timeout=20)
    agent.send(signal.SIGINT)
    agent.expect(128 + signal.SIGINT)
    assert "term" in agent.lines() and "int" not in agent.lines(), agent.output()


def test_another_signal_is_forwarded(cluster):
    cluster.start_scheduler("--worker_num", 1)
    agent = cluster.start_agent("agent", ["--worker_num", 1], [
        "python3", "-c", "import signal; signal.signal(signal.SIGUSR1, lambda *_: print('got it', flush=True)); "
        "print('ready', flush=True); signal.pause(); raise SystemExit(0)"])
    agent.expect_said("ready", timeout=20)
    agent.send(signal.SIGUSR1)
    agent.expect_said("got it")
    agent.expect(0)


def test_a_forwarded_signal_does_not_end_the_scheduler_of_a_drained_agent(cluster):
    """The agent that started the job's scheduler has left the job and has no process to forward the signal to."""
    scheduler = SimpleNamespace(host="127.0.0.1", port=free_port())
    words = ["--worker_num", 1, "--enable_recovery", 1]
    first = cluster.start_agent("n0", [*words, "--node_id", "n0", "--with_scheduler"], UNTIL_GO, scheduler=scheduler)
    first.expect_said("round 1")
    second = cluster.start_agent("n1", [*words, "--node_id", "n1", "--spare"], UNTIL_GO, scheduler=scheduler)
    second.expect_said("a spare")
    cluster.ctl("drain", "n0", scheduler=scheduler)
    cluster.ctl("restart", scheduler=scheduler)
    first.expect_said("the scheduler of the job runs here")
    second.expect_said("round 2")
    first.send(signal.SIGUSR1)
    time.sleep(0.5)  # it looks every 0.1 s
    assert first.is_running() and cluster.phase(scheduler=scheduler) == "running"
    (cluster.folder / "go").touch()
    second.expect(0)
    first.expect(EXIT_STOPPED)
