"""Several jobs on one scheduler: at once, and one after another under the same id."""

import re

from muster import EXIT_FAILED_ELSEWHERE, TRAIN

WAIT_FOR_GO = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]


def start_job(cluster, job, command, count=2):
    return [cluster.start_agent("%s-agent%d" % (job, i), ["--job_id", job, "--worker_num", count, "--node_id", i],
                                command) for i in range(count)]


def test_two_jobs_at_once_do_not_disturb_each_other(cluster):
    scheduler = cluster.start_scheduler()
    good = start_job(cluster, "good", WAIT_FOR_GO)
    cluster.wait_until_running(2, "good")
    bad = start_job(cluster, "bad", ["sh", "-c", "[ $RANK = 0 ] && exit 7; sleep 1000"])
    assert [agent.wait(20) for agent in bad] == [7, EXIT_FAILED_ELSEWHERE]
    assert cluster.phase("bad") == "failed" and cluster.phase("good") == "running"
    (cluster.folder / "go").touch()
    for agent in good:
        agent.expect(0)
    assert cluster.phase("good") == "succeeded"
    assert scheduler.is_running()
    events = cluster.ctl_json("events", "--job", "good")["events"]
    assert events and {event["job_id"] for event in events} == {"good"}


def test_two_pytorch_jobs_on_one_machine_do_not_share_a_port(cluster, any_torch):
    cluster.start_scheduler()
    agents = [agent for job in ("a", "b") for agent in start_job(cluster, job, [any_torch, TRAIN, "--epochs", "3"])]
    for agent in agents:
        agent.expect(0, timeout=120)
    assert {cluster.phase("a"), cluster.phase("b")} == {"succeeded"}


def test_one_job_after_another_under_one_id(cluster):
    cluster.start_scheduler()
    for run in (1, 2, 3):
        for agent in cluster.start_agents(2, ["--worker_num", 2], ["true"]):
            agent.expect(0)
        status = cluster.ctl_json("status", "--job", "default")["runs"][-1]
        assert (status["run"], status["phase"]) == (run, "succeeded")


def test_a_run_after_a_failure_says_how_the_last_one_ended(cluster):
    cluster.start_scheduler()
    first = cluster.start_agent("first", ["--worker_num", 1], ["sh", "-c", "exit 5"])
    first.expect(5)
    second = cluster.start_agent("second", ["--worker_num", 1], ["true"])
    second.expect(0)
    assert re.search(r"run 2\b", second.our_lines()[0] + second.our_lines()[1]), second.output()
    assert re.search(r"code 5\b", "\n".join(second.our_lines()[:2])), second.output()


def test_the_next_run_may_have_another_size(cluster):
    cluster.start_scheduler()
    for count in (3, 1):
        for agent in cluster.start_agents(count, ["--worker_num", count], ["true"]):
            agent.expect(0)
