"""A healthy start and a healthy end print little, and no warnings."""

from muster import no_warnings


def test_eight_workers_start_with_at_most_three_lines_each(cluster):
    scheduler = cluster.start_scheduler("--once", "--worker_num", 8)
    agents = cluster.start_agents(8, ["--worker_num", 8], ["sh", "-c", "while [ ! -e go ]; do sleep 0.1; done"])
    cluster.wait_until_running(8)
    for agent in agents:
        assert len(agent.lines()) <= 3, agent.output()
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)
    scheduler.expect(0)
    for program in agents + [scheduler]:
        no_warnings(program)
        assert len(program.lines()) == len(program.our_lines()), "only our own lines:\n" + program.output()
    for agent in agents:
        assert len(agent.lines()) <= 4, agent.output()
    cluster.expect_nothing_left()


def test_the_childs_output_passes_through_unchanged(cluster):
    cluster.start_scheduler("--worker_num", 1)
    agent = cluster.start_agent("agent", ["--worker_num", 1], ["printf", r"one\ttwo\n\377three"])
    agent.expect(0)
    assert b"one\ttwo\n\xffthree" in agent.log.read_bytes()
