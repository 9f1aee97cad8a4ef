"""Real training jobs of PyTorch that stand still, with unchanged scripts: --expect reads their steps from the output."""

import os
import re
import shutil
import signal
import sys
import time

import pytest

from muster import EXIT_FAILED_ELSEWHERE, SCRIPTS, eventually
from resuming import Lines

SCRIPT = SCRIPTS / "stalling_ddp.py"
TIMEOUT = 4
FIRST = 12
STEP = r"step (\d+)"


def stalling(cluster, python, *words, timeout=TIMEOUT, first=None, expect=STEP, recovers=False, ranks=4, more=(), **options):
    limits = ["--progress_timeout", timeout] if timeout else []
    limits += ["--first_progress_timeout", first] if first else []
    node_words = ["--stop_timeout", 2, *(["--expect", expect] if expect else []), *more]
    command = [python, SCRIPT, "--folder", cluster.folder, *words]
    return Lines(cluster, command, nodes=2, slots=ranks // 2, scheduler_words=limits, node_words=node_words,
                 recovers=recovers, **options)


def without_py_spy(cluster):
    cluster.env["PATH"] = ":".join(folder for folder in cluster.env.get("PATH", os.environ["PATH"]).split(":")
                                   if not os.path.exists(os.path.join(folder, "py-spy")))


def with_py_spy(cluster, py_spy):
    cluster.env["PATH"] = "%s:%s" % (os.path.dirname(py_spy), cluster.env.get("PATH", os.environ["PATH"]))


@pytest.fixture(params=["py-spy", "without"])
def stacks(request, cluster):
    """Whether agents find py-spy."""
    if request.param == "without":
        without_py_spy(cluster)
    else:
        py_spy = shutil.which("py-spy") or os.path.join(os.path.dirname(os.environ.get("MUSTER_PYTHON", "")), "py-spy")
        if not os.path.exists(py_spy):
            pytest.skip("no py-spy")
        with_py_spy(cluster, py_spy)
    return request.param


def ended_by_stall(job, within):
    """Waits for the job's end; returns its cause."""
    eventually(lambda: job.status()["phase"] == "failed", within, "the job has failed")
    cause = job.status()["outcome"]["cause"]
    for node in job.nodes.values():
        node.expect(EXIT_FAILED_ELSEWHERE, 30)
    assert cause["kind"] == "no_progress", cause
    return cause


def last_step_at(job):
    """The time of the last step that any rank has printed."""
    return max(path.stat().st_mtime for path in job.logs.glob("worker_*.log"))


# What names rank 2 with py-spy, and what without.
SUSPECTS = {
    "loop": (r"rank 2 is at a different place: stand_still \(stalling_ddp.py:\d+\)", r"rank 2 is at a different place: running"),
    "loader": (r"rank 2 is at a different place: __getitem__ \(stalling_ddp.py:\d+\)",
               r"rank 2 is at a different place: waiting in .*nanosleep"),
    "fifo": (r"rank 2 is at a different place: stand_still \(stalling_ddp.py:\d+\)",
             r"rank 2 is at a different place: waiting in .*(fifo|pipe|open|wait_for_partner)"),
    "stopped": (r"rank 2 on \S+ \(node \S+\) is stopped", r"rank 2 on \S+ \(node \S+\) is stopped"),
    "vfork": (r"rank 2 is at a different place", r"rank 2 is at a different place: uninterruptible"),
}


@pytest.mark.parametrize("kind", SUSPECTS)
def test_the_rank_for_which_the_others_wait_is_named(cluster, any_torch, measured, kind, stacks):
    job = stalling(cluster, any_torch, "--kind", kind, "--rank", 2).start()
    eventually(lambda: (job.status()["progress"] or {}).get("fastest_step", 0) >= 3, 60, "steps are seen")
    cause = ended_by_stall(job, 60)
    measured("from the last step to the end of a job whose rank 2 stands still (%s)" % kind,
             time.time() - last_step_at(job), at_most=TIMEOUT + 5)
    assert re.search(SUSPECTS[kind][stacks == "without"], cause["text"]), cause
    assert cause["rank"] == 2, cause


def test_all_ranks_in_one_collective_point_to_a_device_or_the_network(cluster, any_torch, stacks):
    job = stalling(cluster, any_torch, "--kind", "collective").start()
    cause = ended_by_stall(job, 90)
    assert re.search(r"all 4 ranks are at the same place: .* \(a device or the network holds them up\)", cause["text"]), cause


def test_a_job_that_never_makes_its_first_step_fails(cluster, any_torch):
    job = stalling(cluster, any_torch, "--kind", "never", first=FIRST).start()
    cause = ended_by_stall(job, 90)
    assert "no process has shown progress within 12 s of the start (--first_progress_timeout)" in cause["text"], cause


def test_with_recovery_the_job_goes_on(cluster, any_torch):
    job = stalling(cluster, any_torch, "--kind", "loop", "--rounds", 1, "--steps", 60, recovers=True).start()
    job.wait_for_round(2, timeout=60)
    job.expect_success(90)


def test_a_stall_may_only_be_reported(cluster, any_torch):
    job = stalling(cluster, any_torch, "--kind", "loop", "--rank", 3, more=["--stall_action", "report"]).start()
    eventually(lambda: job.status()["stall"], 60, "the stall is reported")
    assert job.status()["phase"] == "running" and job.status()["stall"]["rank"] == 3, job.status()
    why = cluster.ctl("why")
    assert "stalled" in why and "rank 3 is at a different place" in why, why
    assert job.scheduler.output().count("rank 3 is at a different place") == 1, "it is logged once"
    cluster.ctl("stop", "--yes")


HEALTHY = {
    "pause": ["--pause", TIMEOUT / 2],
    "evaluation": ["--evaluation", TIMEOUT / 2],
    "one_rank_prints": ["--printer", 0],
    "epochs": ["--epoch", 3],
    "bar": ["--bar"],
}


@pytest.mark.parametrize("kind", HEALTHY)
def test_a_healthy_job_is_left_alone(cluster, any_torch, kind):
    expect = "auto" if kind == "bar" else STEP
    job = stalling(cluster, any_torch, *HEALTHY[kind], "--steps", 60, first=60, expect=expect).start()
    eventually(lambda: job.status()["progress"] or job.status()["phase"] == "succeeded", 60, "progress is seen")
    job.expect_success(90)
    if kind == "bar":
        assert "the output has the progress lines of tqdm" in job.nodes["n0"].output()


def test_a_stopped_process_is_reported_without_any_rule(cluster, any_torch, measured):
    job = stalling(cluster, any_torch, "--kind", "stopped", "--rank", 1, timeout=None, expect=None).start()
    eventually(lambda: job.status()["halted"], 60, "the stopped process is reported")
    pid = job.pids()[1]
    halted = job.status()["halted"]
    assert re.match(r"rank 1 on \S+ \(node n0\): process %d \(\S+\) has been stopped for" % pid, halted), halted
    assert "kill -CONT %d" % pid in cluster.ctl("why")
    assert job.scheduler.output().count("has been stopped for") == 1, "it is logged once"
    os.kill(pid, signal.SIGCONT)
    eventually(lambda: not job.status()["halted"], 15, "it goes on")
    assert job.status()["phase"] == "running"
    cluster.ctl("stop", "--yes")


def test_a_line_that_means_failure_ends_the_process(cluster):
    script = "import sys, time; print('step 1'); print('FATAL: lost its way', flush=True); time.sleep(1000)"
    job = Lines(cluster, [sys.executable, "-c", script], nodes=1, slots=2, recovers=False,
                node_words=["--fail_on", "^FATAL"])
    job.start_scheduler()
    job.start_node("n0")
    job.nodes["n0"].expect(128 + signal.SIGTERM, 30)
    cause = job.status()["outcome"]["cause"]
    assert cause["reason"] == "output_rule" and "was ended by --fail_on: FATAL: lost its way" in cause["text"], cause
    assert "--fail_on" in cause["remedy"], cause


# Unmodified scripts of other frameworks, in which rank 0 alone prints. Rank 1 is stopped from outside.
OTHERS = {
    "mindspore": (os.environ.get("MUSTER_MINDSPORE_PYTHON", ""), ["train_mindspore.py"],
                  {"GLOG_v": "3", "OMP_NUM_THREADS": "1", "EPOCHS": "10000", "STEP_PAUSE": "0.1"}, r"step: (\d+)"),
    "jax": (os.environ.get("MUSTER_JAX_PYTHON", ""), ["train_jax.py", 100000, 0.1], {}, r"step (\d+), loss"),
}


@pytest.mark.parametrize("framework", OTHERS)
def test_a_stopped_rank_of_another_framework_is_named(cluster, framework, measured, stacks):
    python, (script, *words), env, expect = OTHERS[framework]
    if not python:
        pytest.skip("the real %s is not here" % framework)
    cluster.env.update(env)
    job = Lines(cluster, [python, SCRIPTS / script, *words], nodes=2, slots=1, recovers=False,
                scheduler_words=["--progress_timeout", TIMEOUT], node_words=["--stop_timeout", 2, "--expect", expect])
    job.start()
    eventually(lambda: (job.status()["progress"] or {}).get("fastest_step", 0) >= 3, 120, "steps are seen")
    os.kill(job.pids()[1], signal.SIGSTOP)
    stopped = time.time()
    cause = ended_by_stall(job, 60)
    measured("from the stop of a rank of %s to the end of the job" % framework, time.time() - stopped,
             at_most=TIMEOUT + 5 + 2)
    assert re.search(r"rank 1 on \S+ \(node \S+\) is stopped", cause["text"]), cause
    assert cause["rank"] == 1, cause
