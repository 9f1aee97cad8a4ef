"""Rank tables that agents make of their devices' addresses, HCCL's chief, and ms-ctl ranktable."""

import json

PRINT = ["python3", "-c", "import json, os; e = dict(os.environ); t = e.get('RANK_TABLE_FILE');"
         "open('env%s.json' % e['RANK'], 'w').write(json.dumps([e, json.load(open(t)) if t else None]))"]


def run_two(cluster, words, of_each=lambda i: []):
    cluster.start_scheduler("--once", "--worker_num", 4)
    agents = [cluster.start_agent("agent%d" % i, ["--worker_num", 4, "--local_worker_num", 2, "--node_id", "n%d" % i,
                                                  "--machine", "m%d" % i, "--worker_ip", "127.0.0.%d" % (i + 1),
                                                  *words, *of_each(i)], PRINT) for i in range(2)]
    for agent in agents:
        agent.expect(0)
    return [json.loads((cluster.folder / ("env%d.json" % rank)).read_text()) for rank in range(4)]


def test_two_agents_make_one_table(cluster):
    told = run_two(cluster, ["--hccl_mode", "table"], lambda i: ["--device_ips", "192.168.%d.1,192.168.%d.2" % (i, i)])
    expected = {"server_count": "2", "status": "completed", "version": "1.0", "server_list": [
        {"server_id": "127.0.0.%d" % (i + 1), "device": [
            {"device_id": str(d), "device_ip": "192.168.%d.%d" % (i, d + 1), "rank_id": str(2 * i + d)}
            for d in range(2)]} for i in range(2)]}
    for rank, (env, table) in enumerate(told):
        assert table == expected
        assert (env["RANK_ID"], env["DEVICE_ID"]) == (str(rank), str(rank % 2))
        assert not [name for name in env if name.startswith("CM_")], env
    good = cluster.folder / "good.json"
    good.write_text(json.dumps(expected))
    assert "keeps all rules" in cluster.ctl("ranktable", "--check", good)
    expected["server_count"] = "3"
    good.write_text(json.dumps(expected))
    assert "server_count at the table" in cluster.ctl("ranktable", "--check", good, code=1)


def test_all_ranks_are_told_the_same_chief(cluster):
    told = run_two(cluster, ["--hccl_mode", "chief", "--chief_port", 50123])
    for rank, (env, table) in enumerate(told):
        assert table is None and "RANK_ID" not in env and "DEVICE_ID" not in env
        assert [env[name] for name in ("CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_SIZE")] == [
            "127.0.0.1", "50123", "0", "4"]
        assert (env["CM_WORKER_IP"], env["ASCEND_DEVICE_ID"]) == ("127.0.0.%d" % (rank // 2 + 1), str(rank % 2))
