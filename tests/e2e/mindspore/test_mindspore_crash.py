"""How the tests distinguish MindSpore's own crash, after a script's last line, from a failure. A shell acts as
MindSpore."""

import pytest

from mindspore_crash import CrashedAtItsEnd, begins_anew_after_its_crash, expect_ends
from muster import BIN

DONE = "echo 'final loss 0.1'; "
SEGV = "kill -SEGV $$"


def start_node(cluster, script):
    return cluster.start("agent", [BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--", "sh", "-c",
                                   "if [ $RANK = 1 ]; then %s; else %s fi" % (script, DONE)])


def test_sigsegv_after_the_last_line_is_mindspores(cluster):
    process = cluster.start("process", ["sh", "-c", DONE + SEGV])
    with pytest.raises(CrashedAtItsEnd, match="process died of SIGSEGV after its last line"):
        expect_ends([process], timeout=20)
    with pytest.raises(CrashedAtItsEnd, match="rank 1 died of SIGSEGV after its last line"):
        expect_ends([start_node(cluster, DONE + SEGV)], timeout=20)


@pytest.mark.parametrize("script, code", [(SEGV, 139), (DONE + "kill -ABRT $$", 134), (DONE + "kill -KILL $$", 137),
                                          (DONE + "exit 1", 1), (DONE + "exit 139", 139)])
def test_every_other_death_is_a_failure(cluster, script, code):
    process = cluster.start("process", ["sh", "-c", script])
    with pytest.raises(AssertionError, match="process ended with %d" % code):
        expect_ends([process], timeout=20)
    with pytest.raises(AssertionError, match="agent ended with %d" % code):
        expect_ends([start_node(cluster, script)], timeout=20)


def test_a_failure_beside_a_crash_is_a_failure(cluster):
    crashed = cluster.start("crashed", ["sh", "-c", DONE + SEGV])
    failed = cluster.start("failed", ["sh", "-c", DONE + "exit 1"])
    with pytest.raises(AssertionError, match="ended with"):
        expect_ends([crashed, failed], timeout=20)


def attempts_of(crashes):
    """Makes a test that meets so many crashes before it passes; returns it with its clusters' folders."""
    folders = []

    @begins_anew_after_its_crash
    def test(cluster, more):
        assert more == "kept"
        folders.append(cluster.folder)
        program = cluster.start("process", ["sh", "-c", DONE + (SEGV if len(folders) <= crashes else "")])
        expect_ends([program], timeout=20)

    return test, folders


def test_it_begins_again_and_says_so(cluster):
    test, folders = attempts_of(crashes=2)
    with pytest.warns(pytest.PytestWarning, match="MindSpore's own crash") as told:
        test(cluster=cluster, more="kept")
    # Other warnings in the meantime (about objects that Python happened to collect) do not matter to this test.
    assert sum("MindSpore's own crash" in str(each.message) for each in told) == 2 and len(set(folders)) == 3


def test_it_does_not_begin_again_for_ever(cluster):
    test, folders = attempts_of(crashes=10)
    with pytest.warns(pytest.PytestWarning), pytest.raises(CrashedAtItsEnd):
        test(cluster=cluster, more="kept")
    assert len(folders) == 3
