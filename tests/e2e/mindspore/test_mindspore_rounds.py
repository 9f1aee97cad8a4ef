"""The stored data of MindSpore's processes belong to their round. A restarted job finds none of it; a process that
starts again within the round finds all. The gateways go on serving."""

import sys

import pytest

from muster import HERE, kill_now

# Both processes form the cluster and exchange whether they were started for the first time.
SCRIPT = """
import asyncio, os, sys
sys.path.insert(0, %r)
import mindspore_client as client

async def main():
    rank, scope, is_again = int(os.environ["MS_NODE_ID"]), %r, os.path.exists("killed")
    process = client.Process("2.10", os.environ["MS_SCHED_HOST"], int(os.environ["MS_SCHED_PORT"]), rank, 2)
    await process.start()
    await process.form()
    print("round", os.environ["MS_ROUND"], "found", await process.read("told by %%d" %% rank), flush=True)
    await process.write("told by %%d" %% rank, "again" if is_again else "first")
    print("ready", rank, os.getpid(), flush=True)
    # Who is to be killed waits for what never comes.
    awaited = "first" if scope == "worker" and rank == 1 and is_again else "again"
    while await process.read("told by %%d" %% (1 - rank)) != awaited:
        await asyncio.sleep(0.1)
    await asyncio.sleep(1.5)  # until the other one has seen it, too
    await process.leave()
    print("left", flush=True)

asyncio.run(main())
"""


def run(cluster, scope, count):
    """Runs two processes, with one agent or two; kills that of rank 1 once. Returns the output of all."""
    cluster.start_scheduler("--worker_num", 2, "--enable_recovery", 1, "--once")
    script = cluster.folder / "script.py"
    script.write_text(SCRIPT % (str(HERE), scope))
    words = ["--worker_num", 2, "--local_worker_num", 2 // count, "--stop_timeout", 2, "--enable_recovery", 1,
             "--restart_scope", scope]
    agents = [cluster.start_agent("agent%d" % i, [*words, "--node_rank", i], [sys.executable, script])
              for i in range(count)]
    agents[0].expect_said(r"ready 0 \d+", timeout=60)
    victim = int(agents[-1].expect_said(r"ready 1 (\d+)", timeout=60).group(1))
    (cluster.folder / "killed").touch()
    kill_now(victim)
    for agent in agents:
        agent.expect(0, timeout=90)
    cluster.scheduler.expect(0)
    text = "\n".join(agent.output() for agent in agents)
    assert text.count("left") == 2, text
    return text


@pytest.mark.parametrize("count", [1, 2])
def test_the_next_round_finds_nothing_of_the_last(cluster, count):
    text = run(cluster, "job", count)
    assert text.count("round 1 found None") == 2 and text.count("round 2 found None") == 2, text


@pytest.mark.parametrize("count", [1, 2])
def test_within_a_round_what_was_stored_stays(cluster, count):
    text = run(cluster, "worker", count)
    assert text.count("round 1 found None") == 2 and text.count("round 1 found first") == 1, text
    assert "round 2" not in text
