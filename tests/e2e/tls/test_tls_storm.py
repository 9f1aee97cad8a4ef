"""Many honest joins over mutual TLS at once, with a scheduler that has a third of a processor: none is refused."""

import json
import re
import subprocess

import pytest

import control_group
import muster
import pki
from muster import BIN, WITH_TLS

COUNT = 2500


@pytest.fixture
def third_of_a_core():
    group = control_group.make_or_skip(control_group.CpuGroup, 0.3)
    yield group
    group.close()


@pytest.mark.skipif(WITH_TLS, reason="it makes certificates of its own")
def test_2500_joins_over_tls_with_a_third_of_a_core(third_of_a_core, cluster, record_property):  # the cluster ends first
    if not (BIN / "tls_storm").exists():
        pytest.skip("tls_storm is not built")
    authority = pki.Authority()
    folder = pki.Folder(cluster.folder / "tls", authority, authority.scheduler(), authority.host())
    scheduler = cluster.start_scheduler("--tls_config", folder.config, "--journal_path", "memory",
                                        limits=third_of_a_core.enter)
    # The program holds the connections until its standard input ends, with this test.
    storm = cluster.start("storm", [BIN / "tls_storm", folder.config, scheduler.port, COUNT, 500], stdin=subprocess.PIPE)
    storm.expect_said("joined .* seconds", timeout=540)
    record_property("storm", storm.output().strip())
    assert re.search(r"joined %d failed 0 " % COUNT, storm.output()), storm.output() + scheduler.tail()
    assert third_of_a_core.periods_held() > 10, "it was short of processor time"
    run, = cluster.ctl_json("--tls_config", folder.config, "status")["runs"]
    assert (run["nodes_here"], run["nodes_disconnected"]) == (COUNT, 0), run
    nodes = [node for job in cluster.ctl_json("--tls_config", folder.config, "nodes")["jobs"] for node in job["nodes"]]
    assert {node["node_id"] for node in nodes} == {"n%d" % number for number in range(COUNT)}
    counters = cluster.ctl_json("--tls_config", folder.config, "counters")["counters"]
    print(storm.output(), counters)
    turned_away = {name: count for name, count in counters.items()
                   if count and re.match("crowded out|tls: |mute|idle|silent|busy|accept|no descr", name)}
    assert not turned_away, counters
