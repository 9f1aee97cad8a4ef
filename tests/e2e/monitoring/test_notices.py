"""--on_event: a command runs for events that justify waking someone."""

import json

import processes
import pytest

from muster import eventually


def test_a_failed_job_is_reported_and_a_command_that_fails_touches_nothing(cluster):
    told = cluster.folder / "told"
    command = "env > %s.env; cat >> %s; echo no chat here >&2; exit 3" % (told, told)
    scheduler = cluster.start_scheduler("--on_event", command, env={"SECRET": "do not tell"})
    agents = [cluster.start_agent("node%d" % i, ["--worker_num", 2, "--node_id", i],
                                  ["sh", "-c", "echo last words; exit 7"]) for i in range(2)]
    for agent in agents:
        agent.wait(20)
    eventually(lambda: told.exists() and told.read_text().endswith("\n"), 10, "the command has run")
    notice = json.loads(told.read_text())
    assert notice["kind"] == "job_failed" and notice["job_id"] == "default" and notice["run"] == 1, notice
    assert "exit code 7" in notice["text"] and "last words" in notice["last_lines"], notice
    assert "SECRET" not in (cluster.folder / "told.env").read_text()
    scheduler.expect_said("the command of --on_event failed for job_failed: it ended with exit code 3: no chat here")
    assert cluster.ctl_json("counters")["counters"]["--on_event"] == 1


@pytest.mark.parametrize("signal", [15, 9])
def test_a_command_that_hangs_is_killed_with_the_scheduler(cluster, signal):
    scheduler = cluster.start_scheduler("--on_event", "sleep 600 & echo $! > pid; exec sleep 600")
    cluster.start_agent("node", ["--worker_num", 1], ["false"]).wait(20)
    pid = int(eventually(lambda: (cluster.folder / "pid").exists() and (cluster.folder / "pid").read_text().strip(), 10,
                         "it has begun"))
    assert cluster.phase() == "failed"
    scheduler.send(signal)
    scheduler.expect(0 if signal == 15 else 137, 20)
    eventually(lambda: not processes.is_alive(pid), 5, "it is gone")


def test_the_last_notice_of_once_is_sent(cluster):
    told = cluster.folder / "told"
    scheduler = cluster.start_scheduler("--once", "--on_event", "sleep 0.3; cat >> %s" % told)
    cluster.start_agent("node", ["--worker_num", 1], ["false"]).wait(20)
    assert scheduler.wait(20) != 0
    assert json.loads(told.read_text())["kind"] == "job_failed", told.read_text()
