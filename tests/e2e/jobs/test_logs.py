"""--log_dir: each run has a folder of its own, links lead to the newest, and a failure names its log."""

import json
import os
import re
import time

from muster import BIN

FOLDER = re.compile(r"\d+-\d{8}T\d{6}\.\d{3}Z$")


def standalone(cluster, name, logs, script, *words):
    return cluster.start(name, [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--log_dir", logs, *words,
                                "--", "sh", "-c", script])


def runs(logs, job="default"):
    """The folders of the job's runs, the newest last."""
    found = [path for path in (logs / job).iterdir() if FOLDER.match(path.name)]
    return sorted(found, key=lambda path: path.name.split("-")[1])


def wait_for_the_next_second():
    time.sleep(1.1 - time.time() % 1)  # the name of a run's folder has seconds


def test_two_standalone_runs_and_the_first_failed(cluster):
    logs = cluster.folder / "logs"
    told = cluster.folder / "told"  # rank 0 has written all before rank 1 fails, which ends it
    first = standalone(cluster, "first", "logs", "echo first $RANK; [ $RANK = 0 ] && exec touch %s; "
                       "while [ ! -e %s ]; do sleep 0.01; done; exit 3" % (told, told))
    first.expect(3)
    log = (logs / "worker_1.log").resolve()
    failure = json.loads((logs / "failure.json").read_text())
    assert failure["log_file"] == str(log), failure
    assert log.read_text() == "first 1\n"
    assert first.output().count("logs are in %s" % log.parent) == 1, first.output()
    assert "all of its output: %s on " % log in first.output(), first.output()
    assert os.readlink(logs / "failure.json") == "default/%s/failure.json" % log.parent.name

    wait_for_the_next_second()
    standalone(cluster, "second", logs, "echo second $RANK").expect(0)
    folders = runs(logs)
    assert len(folders) == 2, folders
    for folder, name in zip(folders, ("first", "second")):
        for rank in range(2):
            assert (folder / ("worker_%d.log" % rank)).read_text() == "%s %d\n" % (name, rank)
    assert (folders[0] / "failure.json").exists()
    assert os.readlink(logs / "default" / "latest") == folders[1].name
    assert (logs / "worker_0.log").is_symlink() and (logs / "worker_0.log").read_text() == "second 0\n"
    assert not os.path.lexists(logs / "failure.json"), "the newest run has not failed"
    cluster.expect_nothing_left()


def test_one_folder_for_agents_that_share_it_and_ctl_names_the_log(cluster):
    logs = cluster.folder / "share"
    cluster.start_scheduler()
    words = ["--worker_num", 4, "--local_worker_num", 2, "--log_dir", logs, "--job_id", "pair"]
    agents = cluster.start_agents(2, words, ["sh", "-c", "echo rank $RANK; sleep 1; [ $RANK != 3 ]"])
    assert sorted(agent.wait(30) for agent in agents) == [1, 13], agents[0].tail()
    folders = runs(logs, "pair")
    assert len(folders) == 1, folders
    assert sorted(path.name for path in folders[0].iterdir() if path.name[0] != ".") == [
        "failure.json"] + ["worker_%d.log" % rank for rank in range(4)]
    for rank in range(4):
        assert (logs / ("worker_%d.log" % rank)).read_text() == "rank %d\n" % rank
    log = str(folders[0] / "worker_3.log")
    assert re.search(r"^  log +%s on \S+$" % re.escape(log), cluster.ctl("why", "pair"), re.MULTILINE)
    listed = cluster.ctl_json("why", "pair")["runs"]
    assert listed[0]["outcome"]["cause"]["log_file"] == log, listed


def test_old_runs_go_and_nothing_else(cluster):
    logs = cluster.folder / "logs"
    (logs / "default" / "notes").mkdir(parents=True)
    for number in range(3):
        if number:
            wait_for_the_next_second()
        standalone(cluster, "run%d" % number, logs, "echo hello").expect(0)
    hours_ago = time.time() - 7200
    before = runs(logs)
    for path in [path for folder in before for path in folder.iterdir()]:
        os.utime(path, (hours_ago, hours_ago))
    wait_for_the_next_second()
    standalone(cluster, "last", logs, "echo hello", "--keep_logs", 2).expect(0)
    after = runs(logs)
    assert len(before) == 3 and len(after) == 2 and after[0] == before[2], (before, after)
    assert (logs / "default" / "notes").is_dir()
