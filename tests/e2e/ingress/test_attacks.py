"""The worst attacks on HTTP/2, each for a few seconds: a short form of tests/attacks/run.py, with its bounds."""

import argparse
import pathlib
import sys

import pytest

import muster
from muster import BIN, ROOT, WITH_TLS

pytest.importorskip("grpc")  # the honest node gets its messages from wire.py
sys.path.insert(0, str(ROOT / "tests" / "attacks"))
import cell  # noqa: E402
from attacks import ATTACKS  # noqa: E402
from certificates import Certificates  # noqa: E402

OPTIONS = argparse.Namespace(seconds=3, agents=100, datagrams=False, calm=1)

WORST = [("continuation-large", False), ("rapid-reset", False), ("unread-replies", False), ("made-reset-overflow", False),
         ("continuation-large", True), ("rapid-reset", True), ("settings-entries", True)]

pytestmark = [pytest.mark.measures, pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own"),
              pytest.mark.skipif(muster.SLOWNESS > 1, reason="a sanitizer's memory says nothing")]


@pytest.mark.parametrize("name,is_tls", WORST, ids=["%s-%s" % (name, "tls" if is_tls else "plain") for name, is_tls in WORST])
def test_other_agents_are_not_affected(tmp_path, record_property, name, is_tls):
    assert (BIN / "muster_load").exists(), "muster_load is not built"
    certificates = Certificates(BIN / "ms-ctl", pathlib.Path(tmp_path) / "certificates") if is_tls else None
    folder = tmp_path / "cell"
    folder.mkdir()
    with cell.Cell(folder, ATTACKS[name], 4, certificates, OPTIONS) as one:
        result = one.run()
        record_property("result", str(result))
        print(result)
        assert not result["misses"], "%s\n%s" % ("; ".join(result["misses"]), one.cluster.describe())


# Queries that take the core milliseconds each wait outside of the loop's queue. (Inside it, a join took 0.7 to 1.0 s.
# For a client that reads slowly on a busy machine, more memory is used; tests/attacks/run.py bounds it.)
def test_questions_for_all_nodes_delay_no_node(tmp_path):
    folder = tmp_path / "cell"
    folder.mkdir()
    options = argparse.Namespace(seconds=3, agents=1000, datagrams=False, calm=1)
    with cell.Cell(folder, ATTACKS["nodes-in-turn"], 8, None, options) as one:
        result = one.run()
        print(result)
        misses = [miss for miss in result["misses"] if not miss.startswith(("growth mb", "left mb", "p99 ms", "join ms"))]
        longest = max(result["p99_ms"], result["join_ms"])
        assert not misses and longest < 500 * muster.SLOWNESS, "%s\n%s" % (result, one.cluster.describe())


# These would take more memory than gRPC may use here, if nothing stopped them. They must not cost others their streams.
@pytest.mark.parametrize("name", ["unfinished-messages", "unfinished-requests"])
def test_many_connections_break_no_other_stream(tmp_path, name):
    folder = tmp_path / "cell"
    folder.mkdir()
    options = argparse.Namespace(seconds=10, agents=100, datagrams=False, calm=1)
    with cell.Cell(folder, ATTACKS[name], 100, None, options) as one:
        result = one.run()
        print(result)
        misses = [miss for miss in result["misses"] if not miss.startswith(("growth mb", "left mb", "p99 ms", "join ms"))]
        assert not misses, "%s\n%s" % ("; ".join(misses), one.cluster.describe())
