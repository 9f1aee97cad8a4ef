"""examples/torture.sh: the losses of a training that is killed again and again are those of an undisturbed one."""

import re
import shutil
import signal

import pytest

from muster import BIN, ROOT, WITH_TLS, eventually

pytestmark = pytest.mark.skipif(WITH_TLS, reason="the script starts its own programs, without TLS")

KILL = re.compile(r"^ +[\d.]+ s  (rank|the agent of node|the scheduler) ?\d* +([\d.]+) s", re.MULTILINE)


def torture(cluster, root, *words):
    return cluster.start("torture", ["bash", root / "examples" / "torture.sh", *words], env={"MUSTER_BIN": BIN})


def test_losses_are_equal_however_often_it_is_killed(cluster):
    run = torture(cluster, ROOT, "--seconds", "20", "--seed", "1")
    run.expect(0, timeout=400)
    killed = [kind for kind, _ in KILL.findall(run.output())]
    assert len(killed) >= 5 and set(killed) == {"rank", "the agent of node", "the scheduler"}, run.output()
    assert "--seed 1 --seconds 20 --nodes 2 --workers 2" in run.lines()[0]
    compared = re.match(r"(\d+) printed losses of (\d+) steps compared: equal$", run.lines()[-1])
    assert compared, run.output()
    assert int(compared.group(1)) >= int(compared.group(2)) == 500, "each step at least once"
    cluster.expect_nothing_left()
    assert not list(cluster.runtime.glob("muster-torture.*"))


def test_it_notices_a_checkpoint_that_lacks_the_optimizer(cluster):
    """The same script with a training that forgets something, else "equal" would say little."""
    shutil.copytree(ROOT / "examples", cluster.folder / "copy" / "examples")
    train = cluster.folder / "copy" / "examples" / "pytorch" / "train_ddp.py"
    line = 'optimizer.load_state_dict(state["optimizer"])'
    assert train.read_text().count(line) == 1
    train.write_text(train.read_text().replace(line, "pass"))
    run = torture(cluster, cluster.folder / "copy", "--seconds", "10", "--seed", "2")
    run.expect(1, timeout=400)
    assert re.search(r"compared: different at step \d+$", run.output(), re.MULTILINE), run.output()
    cluster.expect_nothing_left()


def test_it_ends_all_that_it_started_when_it_is_interrupted(cluster):
    run = torture(cluster, ROOT, "--seconds", "60")
    eventually(lambda: KILL.search(run.output()), 120, "something was killed")
    run.send(signal.SIGTERM)
    run.expect(128 + signal.SIGTERM, timeout=60)
    cluster.expect_nothing_left()
    assert not list(cluster.runtime.glob("muster-torture.*"))


@pytest.mark.parametrize("words", [["--seconds", "5"], ["--seed"], ["--workers", "0"], ["--nodes", "two"], ["--fast"]])
def test_wrong_words_are_named(cluster, words):
    run = torture(cluster, ROOT, *words)
    run.expect(2)
    assert len(run.lines()) == 1 and words[0] in run.output(), run.output()


def test_a_missing_program_is_named(cluster):
    run = cluster.start("torture", ["bash", ROOT / "examples" / "torture.sh"], env={"MUSTER_BIN": cluster.folder})
    run.expect(2)
    assert "ms-worker is not in %s" % cluster.folder in run.output()


def test_help_names_each_option(cluster):
    run = torture(cluster, ROOT, "--help")
    run.expect(0)
    for option in ("--seconds", "--seed", "--nodes", "--workers"):
        assert option in run.output()
