"""A run that a person stopped is shown as stopped, and not as failed, everywhere."""

import json
import signal

import pytest

from http_client import ask, metrics, port_of
from muster import BIN, EXIT_FAILED_ELSEWHERE, EXIT_STOPPED, WITH_TLS, eventually


@pytest.fixture
def stopped(cluster):
    """A cluster whose only job was stopped."""
    cluster.told = cluster.folder / "told"
    cluster.scheduler = cluster.start_scheduler("--http_address", "127.0.0.1:0", "--on_event",
                                                "cat >> %s" % cluster.told)
    cluster.agent = cluster.start_agent("node", ["--worker_num", 1, "--log_dir", cluster.folder / "logs"],
                                        ["sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.1; done"])
    cluster.wait_until_running(1)
    cluster.ctl("stop", "default", "--yes", "--reason", "wrong data")
    return cluster


def test_the_exit_code_and_the_last_line_say_so(stopped):
    stopped.agent.expect(EXIT_STOPPED)
    last = stopped.agent.our_lines()[-1]
    assert " INFO " in last and "was stopped by" in last and "wrong data" in last, last
    assert not list(stopped.folder.glob("logs/**/failure.json")), "nothing has failed"


def test_tables_json_and_events_say_so(stopped):
    stopped.agent.wait(10)
    assert "run 1: stopped" in stopped.ctl("status") and "run 1: stopped" in stopped.ctl("why")
    run = stopped.ctl_json("status")["runs"][0]
    assert run["phase"] == "stopped" and run["outcome"]["cause"]["kind"] == "stopped_by_user", run
    kinds = [event["kind"] for event in stopped.ctl_json("events")["events"]]
    assert kinds[-2:] == ["run_stopping", "run_stopped"], kinds
    assert "has stopped already" in stopped.ctl("stop", "default", code=1)
    assert "failed" not in stopped.scheduler.output(), stopped.scheduler.output()


def test_report_and_watch_say_so(stopped):
    stopped.agent.wait(10)
    report = stopped.folder / "report.html"
    stopped.ctl("report", "default", "-o", report)
    text = report.read_text()
    assert "Why it was stopped" in text and ">stopped<" in text and "Why it failed" not in text
    watched = stopped.start("watch", [BIN / "ms-ctl", "watch", "default", *stopped.agent_words()])
    watched.expect(EXIT_STOPPED)


def test_a_notice_says_so(stopped):
    eventually(lambda: stopped.told.exists() and "\n" in stopped.told.read_text(), 10, "the notice came")
    notice = json.loads(stopped.told.read_text())
    assert notice["kind"] == "job_stopped" and notice["event"] == "run_stopped", notice


@pytest.mark.skipif(WITH_TLS, reason="asks in plain text")
def test_metrics_and_the_rest_interface_say_so(stopped):
    stopped.agent.wait(10)
    port = port_of(stopped.scheduler)
    found = metrics(port)
    assert found['muster_runs{phase="stopped"}'] == 1 and found['muster_runs{phase="failed"}'] == 0, found
    assert found["muster_stopped_runs_total"] == 1, found
    assert not any(name.startswith("muster_failed_runs_total") for name in found), found
    run = json.loads(ask(port, "/api/v1/jobs/default")[2])["runs"][0]
    assert run["phase"] == "stopped", run


@pytest.mark.parametrize("how", ["stop", "SIGINT", "SIGTERM"])
def test_a_scheduler_of_one_job_ends_with_17_if_a_person_stopped_it(cluster, how):
    scheduler = cluster.start_scheduler("--once")
    agents = [cluster.start_agent("n%d" % i, ["--worker_num", 2, "--node_id", "n%d" % i], ["sleep", "1000"])
              for i in range(2)]
    cluster.wait_until_running(2)
    if how == "stop":
        cluster.ctl("stop", "default", "--yes")
        agents[0].expect(EXIT_STOPPED)
    else:
        agents[0].send(signal.Signals[how])
        agents[0].expect(128 + signal.Signals[how])
    # SIGTERM can come from a machine that shuts down, and then the batch system may try again.
    agents[1].expect(EXIT_FAILED_ELSEWHERE if how == "SIGTERM" else EXIT_STOPPED)
    scheduler.expect(1 if how == "SIGTERM" else EXIT_STOPPED)


def test_a_stop_that_comes_after_a_failure_leaves_it_a_failure(cluster):
    """The cause of a run is its first failure."""
    cluster.start_scheduler()
    agent = cluster.start_agent("node", ["--worker_num", 2, "--local_worker_num", 2, "--stop_timeout", 3],
                                ["sh", "-c", "[ $RANK = 1 ] && exit 5; trap '' TERM; while :; do sleep 0.1; done"])
    cluster.wait_for_phase("stopping")
    cluster.ctl("stop", "default", "--yes")
    agent.expect(5)
    assert cluster.phase() == "failed"
