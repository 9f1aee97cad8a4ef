"""The views of an operator: logs, top, missing nodes, events since, and a run's report."""

import json
import signal

from muster import BIN, eventually

WRITES = ["sh", "-c", "echo begun $RANK; i=0; while [ ! -e go ]; do i=$((i+1)); echo line $i of $RANK; sleep 0.1; done; "
          "printf 'no end'"]


def start_job(cluster, command=WRITES, workers=2):
    agents = [cluster.start_agent("node%d" % i, ["--worker_num", workers, "--node_id", i], command)
              for i in range(2)]
    cluster.wait_until_running(2)
    return agents


def test_logs_are_read_and_followed(cluster):
    cluster.start_scheduler()
    agents = start_job(cluster)
    eventually(lambda: "line 3 of 1\n" in cluster.ctl("logs", 1), 10, "rank 1 has written")
    assert "begun 1\n" in cluster.ctl("logs", 1) and "of 0" not in cluster.ctl("logs", 1)
    assert cluster.ctl("logs", "default", 0, "--lines", 2).count("\n") == 2
    told = cluster.ctl_json("logs", 0)
    assert told["rank"] == 0 and told["pid"] and not told["has_ended"] and "line 1 of 0\n" in told["text"], told
    follower = cluster.start("follower", [BIN / "ms-ctl", "logs", "1", "-f", *cluster.agent_words()])
    eventually(lambda: "line 30 of 1\n" in follower.output(), 20, "it is followed")
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0, 20)
    follower.expect(0, 20)
    lines = [line for line in follower.output().splitlines() if line.startswith("line ")]
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == list(range(numbers[0], numbers[-1] + 1)), numbers
    assert "has ended" in cluster.ctl("logs", "default", 1, code=1)
    assert "there is no job to read the logs of" in cluster.ctl("logs", 1, code=1)
    assert "is not a rank" in cluster.ctl("logs", "x", code=2)


def test_what_an_ended_process_wrote_is_there_while_the_run_goes_on(cluster):
    cluster.start_scheduler()
    cluster.start_agent("node", ["--worker_num", 2, "--local_worker_num", 2, "--log_dir", cluster.folder / "logs"],
                        ["sh", "-c", "echo words of $RANK; [ $RANK = 0 ] || while [ ! -e go ]; do sleep 0.1; done"])
    cluster.wait_for_phase("running")
    ended = eventually(lambda: [log for log in [cluster.ctl_json("logs", 0)] if log["has_ended"]], 20, "rank 0 is done")
    assert ended[0]["text"] == "words of 0\n" and ended[0]["log_file"].startswith(str(cluster.folder)), ended
    assert cluster.ctl("logs", 1) == "words of 1\n"
    (cluster.folder / "go").touch()


def test_all_ranks_of_a_shared_process_have_its_log_also_when_it_has_ended(cluster):
    cluster.start_scheduler()
    words = ["--worker_num", 4, "--local_worker_num", 2, "--per_node"]
    cluster.start_agent("ends", [*words, "--node_id", "ends"], ["echo", "all that there is"])
    cluster.start_agent("stays", [*words, "--node_id", "stays"], ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"])
    cluster.wait_for_phase("running")
    ranks = [rank["rank"] for rank in cluster.ctl_json("ranks")["jobs"][0]["ranks"] if rank["node_id"] == "ends"]
    assert len(ranks) == 2, ranks
    for rank in ranks:
        log = eventually(lambda: [log for log in [cluster.ctl_json("logs", rank)] if log["has_ended"]], 20, "it is done")
        assert log[0]["text"] == "all that there is\n", log
    (cluster.folder / "go").touch()


def test_a_failure_is_followed_to_its_last_line(cluster):
    cluster.start_scheduler()
    agent = cluster.start_agent("node", ["--worker_num", 1], [
        "sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo 'last words'; exit 3"])
    cluster.wait_for_phase("running")
    follower = cluster.start("follower", [BIN / "ms-ctl", "logs", "0", "-f", *cluster.agent_words()])
    eventually(lambda: "begun\n" in follower.output(), 20, "it is followed")
    (cluster.folder / "go").touch()
    agent.wait(20)
    follower.expect(0, 20)
    assert [line for line in follower.output().splitlines() if not line.startswith("ms-ctl:")] == [
        "begun", "last words"], follower.output()


def test_missing_and_refused_nodes_are_named(cluster):
    cluster.start_scheduler()
    assert "no job yet" in cluster.ctl("nodes", "--missing")
    here = cluster.start_agent("here", ["--worker_num", 4, "--node_id", 1], ["true"])
    eventually(lambda: "1 of 4 workers are here" in cluster.ctl("nodes", "--missing"), 10, "it has joined")
    assert [node["node_id"] for node in cluster.ctl_json("nodes", "--missing")["jobs"][0]["missing"]] == ["0", "2", "3"]
    other = cluster.start_agent("other", ["--worker_num", 8, "--node_id", 2], ["true"])
    other.wait(20)
    refused = cluster.ctl_json("nodes", "--missing")["jobs"][0]["refused"]
    assert [(join["node_id"], join["reason"]) for join in refused] == [("2", "SETTINGS_DIFFER")], refused
    assert "REFUSED" in cluster.ctl("nodes", "--missing")
    here.send(signal.SIGTERM)


def test_top_events_and_report(cluster):
    cluster.start_scheduler()
    start_job(cluster, ["sh", "-c", "echo '<b>bold</b> words'; while [ ! -e go ]; do sleep 0.1; done; exit 3"])
    assert "LATE NODE" in cluster.ctl("top")
    assert len(cluster.ctl_json("top", "--lines", 1)["jobs"][0]["late"]) == 1
    (cluster.folder / "go").touch()
    cluster.wait_for_phase("failed")
    assert "failed after" in cluster.ctl("events", "--since", "1h")
    assert cluster.ctl_json("events", "--since", "2099-01-01")["events"] == []
    assert "is not a time" in cluster.ctl("events", "--since", "soon", code=2)
    path = cluster.folder / "report.html"
    assert cluster.ctl("report", "-o", path).strip() == str(path)
    html = path.read_text()
    assert "&lt;b&gt;bold&lt;/b&gt; words" in html and "<b>bold" not in html
    assert "exit code 3" in html and "Timeline" in html and "ms-worker" in html
    assert "http:" not in html and "https:" not in html and "<script" not in html
    assert cluster.ctl("report", "default", "--run", 1, "-o", "-").startswith("<!doctype html>")
    assert "can't write" in cluster.ctl("report", "-o", "/nowhere/report.html", code=1)
    assert json.loads(cluster.ctl("status", "--json"))["runs"][0]["phase"] == "failed"
