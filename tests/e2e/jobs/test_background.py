"""Background jobs of a command that ends with 0: the agent waits for them if the command stands for all slots."""

import signal

import pytest

from muster import BIN, eventually

# Like MindSpore's examples: a process for each device in the background, and no `wait` at the end.
LOOP = "for ((i = 0; i < LOCAL_WORLD_SIZE; i++)); do %s & done"


def start(cluster, script, *words, name="agent"):
    return cluster.start(name, [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, *words,
                                "--", "bash", "-c", script])


def done(cluster):
    return sorted(path.name for path in cluster.folder.glob("done.*"))


@pytest.mark.parametrize("job", ["sh -c \"sleep 1; echo trained > done.$i\"",
                                 "nohup sh -c \"sleep 1; echo trained > done.$i\" > log.$i 2>&1"])
def test_a_loop_without_wait_trains(cluster, job):
    agent = start(cluster, LOOP % job, "--per_node")
    agent.expect(0)
    assert done(cluster) == ["done.0", "done.1"], agent.output()
    said = agent.expect_said(r"the command has ended with 0; waiting for \d+ processes that it left in the background: "
                             r"(.*) \(with --leftover end they would be killed\)")
    assert "sh (" in said.group(1) or "sleep (" in said.group(1), said.group(0)
    cluster.expect_nothing_left()


def test_jobs_in_groups_of_their_own_are_background_too(cluster):
    agent = start(cluster, "set -m; " + LOOP % "sh -c \"sleep 1; echo trained > done.$i\"", "--per_job")
    agent.expect(0)
    assert done(cluster) == ["done.0", "done.1"], agent.output()


def test_a_background_job_that_fails_fails_the_command(cluster):
    job = "sh -c \"sleep 0.5; test $i = 0 || exit 7; sleep 1000\""
    agent = start(cluster, LOOP % job, "--per_node")
    agent.expect(7)
    agent.expect_said(r"sh \(\d+\) ended with 7; it was a background job that the command had left")
    cluster.expect_nothing_left()


def test_a_helper_that_the_script_ends_is_no_failure(cluster):
    agent = start(cluster, "sleep 1000 & sh -c 'sleep 1; echo > done.0' & kill %1", "--per_node")
    agent.expect(0)
    assert done(cluster) == ["done.0"], agent.output()


def test_daemons_and_leftover_end(cluster):
    agent = start(cluster, "setsid sleep 1000 & exit 0", "--per_node", name="daemon")
    agent.expect(0)
    agent.expect_said(r"the command has ended with 0, and the processes that it left are killed: "
                      r"sleep \(\d+, in a session of its own\)")
    agent = start(cluster, LOOP % "sleep 1000", "--per_node", "--leftover", "end", name="end")
    agent.expect(0)
    agent.expect_said(r"the processes that it left are killed: sleep \(\d+\), sleep \(\d+\); --leftover wait would wait")
    agent = start(cluster, "sleep 1000 & exit 0", "--leftover", "wait", name="each")
    agent.expect(0)
    assert agent.output().count("and the processes that it left are killed: sleep (") == 1, agent.output()
    assert "leftover has no effect without --per_node or --per_job" in agent.output()
    agent = start(cluster, "sleep 1000 & exit 3", name="failed")
    agent.expect(3)
    assert "that it left are" not in agent.output()
    cluster.expect_nothing_left()


def test_what_is_waited_for_hears_signals(cluster):
    job = "sh -c \"trap \\\"echo saved > done.$i; exit\\\" TERM; echo up \\$\\$; while :; do sleep 0.1; done\""
    for name, number in (("terminated", signal.SIGTERM), ("interrupted", signal.SIGINT)):
        agent = start(cluster, LOOP % job, "--per_node", name=name)
        agent.expect_said("waiting for")
        eventually(lambda: agent.output().count("up ") == 2, 10, "both run")
        agent.send(number)
        agent.expect(128 + number, timeout=15)
        assert done(cluster) == ["done.0", "done.1"], agent.output()
        for path in cluster.folder.glob("done.*"):
            path.unlink()
    cluster.expect_nothing_left()
