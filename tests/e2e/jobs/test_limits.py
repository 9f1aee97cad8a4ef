"""Too few processes, threads or descriptors: each start works to the end, or fails within 10 s with a message that
names what is missing. Nothing hangs, and nothing dies of a signal.

pids.max and RLIMIT_NOFILE are swept from the least value at which `--version` works up to 72; ordinary runs try some of
the values, MUSTER_LONG=1 all of them.
"""

import os
import re
import resource
import signal
import subprocess
import time

import pytest

import control_group
import muster
import processes

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
MOST = 72
PATIENCE = 10
NAMES_A_LIMIT = re.compile(r"pids\.max|RLIMIT_NPROC|threads-max|RLIMIT_NOFILE|[Tt]oo many open files|descriptor")
JOB = ("sh", "-c", "echo rank $RANK is here")


class Pids:
    """Limits pids.max, which counts threads as well."""

    def __init__(self):
        self.group = control_group.make_or_skip(control_group.PidsGroup)

    def hold_to(self, count):
        self.group.allow(count)
        return self.group.enter

    def close(self):
        self.group.close()


class Files:
    """Limits RLIMIT_NOFILE."""

    def hold_to(self, count):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    def close(self):
        pass


@pytest.fixture(params=[Pids, Files], ids=["pids.max", "RLIMIT_NOFILE"])
def limit(request):
    made = request.param()
    yield made
    made.close()


def least_for(limit, program):
    for count in range(1, MOST):
        done = subprocess.run([muster.BIN / program, "--version"], preexec_fn=limit.hold_to(count),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return count
    raise AssertionError("%s --version works with none of the values" % program)


def values(limit, program):
    found = range(least_for(limit, program), MOST + 1)
    return found if IS_LONG else sorted({*found[:8:2], *found[8:40:3], *found[40::10], MOST})


def outcome(program, code):
    """The outcome of a start that has ended. Fails the test if it neither worked nor named a limit."""
    output = program.output()
    assert "what():" not in output and "broken invariant" not in output and "SIGABRT" not in output, output
    if code == 0:
        return "works"
    assert code < 128, "%s died of signal %d:\n%s" % (program.name, code - 128, output)
    assert NAMES_A_LIMIT.search(output), "%s ended with %d, and names no limit:\n%s" % (program.name, code, output)
    return "says"


def try_scheduler(cluster, name, limits):
    """It works if it serves a job and is stopped."""
    scheduler = cluster.start(name, [muster.BIN / "ms-scheduler", "--sched_host", "127.0.0.1", "--sched_port", 0,
                                     "--journal_path", cluster.folder / name],
                              kind=muster.Scheduler, limits=limits)
    muster.eventually(lambda: not scheduler.is_running() or "listening on" in scheduler.output(), PATIENCE,
                      "%s listens or ends" % name)
    if not scheduler.is_running():
        return outcome(scheduler, scheduler.wait(0))
    scheduler.find_port()
    agent = cluster.start_agent(name + "-agent", ["--worker_num", 1], JOB, scheduler=scheduler)
    agent.expect(0, PATIENCE)
    assert cluster.phase(scheduler=scheduler) == "succeeded"
    scheduler.send(signal.SIGTERM)
    return outcome(scheduler, scheduler.wait(PATIENCE))


def try_standalone(cluster, name, limits):
    agent = cluster.start(name, [muster.BIN / "ms-worker", "--standalone", "--", *JOB], limits=limits)
    found = outcome(agent, agent.wait(PATIENCE))
    assert found != "works" or "rank 0 is here" in agent.output(), agent.output()
    return found


def try_agent(cluster, name, limits):
    scheduler = cluster.scheduler or cluster.start_scheduler("--disconnect_grace", 0, name="scheduler-of-" + name)
    agent = cluster.start_agent(name, ["--worker_num", 1, "--job_id", name], JOB, scheduler=scheduler, limits=limits)
    found = outcome(agent, agent.wait(PATIENCE))
    assert found != "works" or "rank 0 is here" in agent.output(), agent.output()
    return found


def try_many(cluster, name, limits):
    """Four processes use descriptors of the agent and of its keeper."""
    scheduler = cluster.scheduler or cluster.start_scheduler("--disconnect_grace", 0, name="scheduler-of-" + name)
    agent = cluster.start_agent(name, ["--worker_num", 4, "--local_worker_num", 4, "--job_id", name], JOB,
                                scheduler=scheduler, limits=limits)
    found = outcome(agent, agent.wait(PATIENCE))
    assert found != "works" or "rank 3 is here" in agent.output(), agent.output()
    return found


def try_ctl(cluster, name, limits):
    scheduler = cluster.scheduler or cluster.start_scheduler(name="scheduler-of-" + name)
    ctl = cluster.start(name, [muster.BIN / "ms-ctl", *cluster.agent_words(scheduler), "status"], limits=limits)
    found = outcome(ctl, ctl.wait(PATIENCE))
    assert found != "works" or "no job" in ctl.output(), ctl.output()
    return found


@pytest.mark.parametrize("attempt, program",
                         [(try_scheduler, "ms-scheduler"), (try_standalone, "ms-worker"), (try_agent, "ms-worker"), (try_many, "ms-worker"),
                          (try_ctl, "ms-ctl")],
                         ids=["scheduler", "standalone", "agent", "many", "ctl"])
def test_each_start_works_or_says_what_it_lacks(limit, cluster, attempt, program):  # the cluster ends first
    found, wrong = {}, []
    for count in values(limit, program):
        begin = time.monotonic()
        try:
            found[count] = attempt(cluster, "%s-%d" % (attempt.__name__, count), limit.hold_to(count))
        except AssertionError as error:
            found[count] = "FAILS"
            wrong.append("%d: %s" % (count, error))
            processes.kill_descendants({started.pid: started.popen for started in cluster.programs})
            cluster.scheduler = None
        found[count] += " %.1f s" % (time.monotonic() - begin)
    print(found)
    assert not wrong, "%d of %d values:\n%s" % (len(wrong), len(found), "\n".join(wrong))
    assert found[MOST].startswith("works"), found


# Takes all that is left under the limit, and frees it at its end.
GREEDY = """
import os, sys, time
children = []
while True:
    try:
        child = os.fork()
    except BlockingIOError:
        break
    if child == 0:
        time.sleep(60)
        os._exit(0)
    children.append(child)
print("took", len(children), flush=True)
time.sleep(%s)
for child in children:
    os.kill(child, 9)
"""


@pytest.fixture
def pids():
    made = Pids()
    yield made
    made.close()


@pytest.mark.parametrize("is_stopped", [False, True], ids=["ends", "stopped"])
def test_an_agent_whose_job_takes_every_thread_ends(pids, cluster, is_stopped):
    """While it can't have a thread, its connection, for which gRPC needs some, breaks and comes back."""
    for _ in range(5 if IS_LONG else 1):
        scheduler = cluster.start_scheduler("--disconnect_grace", 30, name="scheduler-%d" % len(cluster.programs))
        job = ("/usr/bin/python3", "-c", GREEDY % (60 if is_stopped else 3))
        agent = cluster.start_agent("agent-%d" % len(cluster.programs), ["--worker_num", 1, "--stop_timeout", 2], job,
                                    scheduler=scheduler, limits=pids.hold_to(40))
        agent.expect_said(r"took \d+")
        scheduler.send(signal.SIGSTOP)
        time.sleep(1)
        scheduler.send(signal.SIGCONT)
        if is_stopped:
            agent.send(signal.SIGTERM)
        agent.expect(128 + signal.SIGTERM if is_stopped else 0, PATIENCE)
        scheduler.send(signal.SIGTERM)
        scheduler.expect(0, PATIENCE)
