"""A real PyTorch job, start to end: 2 nodes x 2 workers."""

import json
import re

from muster import TRAIN, no_warnings


def test_trains_and_ends_well(cluster, each_torch):
    folder = cluster.folder / "env"
    folder.mkdir()
    scheduler = cluster.start_scheduler("--once", "--worker_num", 4)
    agents = [cluster.start_agent("agent%d" % node,
                                  ["--worker_num", 4, "--local_worker_num", 2, "--log_dir",
                                   cluster.folder / ("logs%d" % node)],
                                  [each_torch, TRAIN], env={"DUMP_ENV_DIR": folder}) for node in (1, 2)]
    for agent in agents:
        agent.expect(0, timeout=120)
    scheduler.expect(0)
    logs = {path.name: path.read_text() for path in cluster.folder.glob("logs*/worker_*.log")}
    assert sorted(logs) == ["worker_%d.log" % rank for rank in range(4)]
    for log in logs.values():
        assert re.search(r"^epoch: 0, step: 0, loss is \d", log, re.MULTILINE), log
    accuracy = float(re.search(r"^test accuracy: (\S+)$", logs["worker_0.log"], re.MULTILINE).group(1))
    assert accuracy >= 0.93
    told = [json.loads((folder / ("rank_%d.json" % rank)).read_text()) for rank in range(4)]
    assert len({(env["MASTER_ADDR"], env["MASTER_PORT"]) for env in told}) == 1
    for program in agents + [scheduler]:
        no_warnings(program)
    cluster.expect_nothing_left()


def test_the_scheduler_logs_start_and_end_in_one_line_each(cluster):
    scheduler = cluster.start_scheduler("--once", "--worker_num", 2)
    for agent in cluster.start_agents(2, ["--worker_num", 2], ["true"]):
        agent.expect(0)
    scheduler.expect(0)
    formed = [line for line in scheduler.our_lines() if re.search(r"formed: 2 workers\b.* in \S+ (ms|s)\b", line)]
    assert len(formed) == 1, scheduler.output()
    assert len([line for line in scheduler.our_lines() if "succeeded" in line]) == 1, scheduler.output()
