"""A network cable that is cut, with default settings."""

import re
import time

from muster import EXIT_FAILED_ELSEWHERE, eventually

SLEEP = ["sleep", "1000"]


def test_the_loss_is_declared_within_a_minute_and_the_stale_agent_ends(cluster, network, measured):
    first, second = network.pair()
    scheduler = cluster.start_scheduler("--worker_num", 2, host=first.address, netns=first.name)
    near = cluster.start_agent("near", ["--worker_num", 2, "--node_id", "near"], SLEEP, netns=first.name)
    far = cluster.start_agent("far", ["--worker_num", 2, "--node_id", "far"], SLEEP, netns=second.name)
    cluster.wait_until_running(2, netns=first.name)
    second.cut_cable()
    cut = time.monotonic()
    eventually(lambda: re.search(r"far.*(lost|vanished|disconnected|no contact)", scheduler.output()), 70,
               "the scheduler notices")
    near.expect(EXIT_FAILED_ELSEWHERE, timeout=70)
    measured("from the cut to the survivor's end", time.monotonic() - cut, at_most=60)
    assert "far" in near.our_lines()[-1], near.output()
    assert cluster.phase(netns=first.name) == "failed"
    assert far.is_running(), "it knocks:\n" + far.output()

    second.plug_cable()
    assert far.wait(60) != 0, far.output()
    cluster.scheduler.send(15)
    scheduler.expect(0)
    cluster.expect_nothing_left()


def test_a_short_break_harms_nothing(cluster, network):
    first, second = network.pair()
    cluster.start_scheduler("--worker_num", 2, "--once", host=first.address, netns=first.name)
    command = ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"]
    agents = [cluster.start_agent(name, ["--worker_num", 2, "--node_id", name], command, netns=machine.name)
              for name, machine in (("near", first), ("far", second))]
    cluster.wait_until_running(2, netns=first.name)
    second.cut_cable()
    time.sleep(5)
    second.plug_cable()
    time.sleep(3)
    assert cluster.phase(netns=first.name) == "running"
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0, timeout=40)
