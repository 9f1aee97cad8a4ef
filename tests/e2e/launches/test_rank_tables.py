"""Rank tables that agents make from their devices' addresses, and ms-ctl ranktable."""

import json

from muster import BIN, SCRIPTS, eventually

PRINT = ["python3", "-c", "import json, os; e = dict(os.environ); t = e.get('RANK_TABLE_FILE');"
         "open('env%s.json' % e['RANK'], 'w').write(json.dumps([e, json.load(open(t)) if t else None]))"]

# The addresses of two servers with eight devices each: devices 0-3 and 4-7 in four network segments.
HOSTS = ["127.0.0.1", "127.0.0.2"]
DEVICE_IPS = [["192.168.%d.%d" % (100 + device % 4, 101 + 10 * host + device // 4) for device in range(8)]
              for host in range(2)]

# The document's table for two servers, with its fields in the document's order.
DOCUMENTS_TABLE = """
{
    "server_count":"2",
    "server_list":[
        {
            "device":[
                { "device_id":"0", "device_ip":"192.168.100.101", "rank_id":"0" },
                { "device_id":"1", "device_ip":"192.168.101.101", "rank_id":"1" },
                { "device_id":"2", "device_ip":"192.168.102.101", "rank_id":"2" },
                { "device_id":"3", "device_ip":"192.168.103.101", "rank_id":"3" },
                { "device_id":"4", "device_ip":"192.168.100.102", "rank_id":"4" },
                { "device_id":"5", "device_ip":"192.168.101.102", "rank_id":"5" },
                { "device_id":"6", "device_ip":"192.168.102.102", "rank_id":"6" },
                { "device_id":"7", "device_ip":"192.168.103.102", "rank_id":"7" }
            ],
            "server_id":"127.0.0.1"
        },
        {
            "device":[
                { "device_id":"0", "device_ip":"192.168.100.111", "rank_id":"8" },
                { "device_id":"1", "device_ip":"192.168.101.111", "rank_id":"9" },
                { "device_id":"2", "device_ip":"192.168.102.111", "rank_id":"10" },
                { "device_id":"3", "device_ip":"192.168.103.111", "rank_id":"11" },
                { "device_id":"4", "device_ip":"192.168.100.112", "rank_id":"12" },
                { "device_id":"5", "device_ip":"192.168.101.112", "rank_id":"13" },
                { "device_id":"6", "device_ip":"192.168.102.112", "rank_id":"14" },
                { "device_id":"7", "device_ip":"192.168.103.112", "rank_id":"15" }
            ],
            "server_id":"127.0.0.2"
        }
    ],
    "status":"completed",
    "version":"1.0"
}
"""


def start_two(cluster, worker_num, words, command, of_each=lambda i: [], env_of_each=lambda i: {}):
    cluster.start_scheduler("--once", "--worker_num", worker_num)
    return [cluster.start_agent("agent%d" % i, [
        "--worker_num", worker_num, "--local_worker_num", worker_num // 2, "--node_id", "n%d" % i, "--machine",
        "m%d" % i, "--worker_ip", HOSTS[i], *words, *of_each(i)], command, env=env_of_each(i)) for i in range(2)]


def told(cluster, worker_num):
    return [json.loads((cluster.folder / ("env%d.json" % rank)).read_text()) for rank in range(worker_num)]


def host_with_conf(cluster, host):
    """A host of the test's own with the devices' addresses in /etc/hccn.conf."""
    etc = cluster.folder / ("host%d" % host) / "etc"
    etc.mkdir(parents=True)
    lines = ["address_%d=%s\nnetmask_%d=255.255.255.0\n" % (i, ip, i) for i, ip in enumerate(DEVICE_IPS[host])]
    (etc / "hccn.conf").write_text("".join(lines))
    return {"MUSTER_HOST_ROOT": str(etc.parent)}


def test_two_agents_make_the_documents_table(cluster):
    """The table is made from /etc/hccn.conf. The processes see it, and ms-ctl shows and makes the same."""
    stop = "while [ ! -e stop ]; do sleep 0.05; done"
    agents = start_two(cluster, 16, ["--hccl_mode", "table"], ["sh", "-c", '"$@" && ' + stop, "sh", *PRINT],
                       env_of_each=lambda i: host_with_conf(cluster, i))
    cluster.wait_until_running(16)
    documents = json.loads(DOCUMENTS_TABLE)
    shown = cluster.ctl("ranktable")
    assert json.loads(shown) == documents
    made = cluster.ctl("ranktable", "--for", 2, "--hosts", ",".join(HOSTS), "--device_ips", ",".join(DEVICE_IPS[0]),
                       "--device_ips", ",".join(DEVICE_IPS[1]))
    assert made == shown
    file = cluster.folder / "table.json"
    file.write_text(DOCUMENTS_TABLE)
    assert cluster.ctl("ranktable", "--check", file) == (
        "%s follows all rules: version 1.0, 2 servers, 16 devices\n" % file)
    file.write_text(DOCUMENTS_TABLE.replace('"rank_id":"15"', '"rank_id":"14"'))
    said = cluster.ctl("ranktable", "--check", file, code=1)
    assert "rank_id_unique at server_list[1].device[7]\n  found:  rank_id 14 is given twice" in said, said
    assert "write:" in said
    (cluster.folder / "stop").touch()
    for agent in agents:
        agent.expect(0)
    for rank, (env, table) in enumerate(told(cluster, 16)):
        assert table == documents
        assert (env["RANK_ID"], env["RANK_SIZE"], env["DEVICE_ID"]) == (str(rank), "16", str(rank % 8))
        assert not [name for name in env if name.startswith("CM_")], env


def test_what_somebody_wrote_is_obeyed_as_muster_would_make_it(cluster):
    file = cluster.folder / "table.json"
    file.write_text(DOCUMENTS_TABLE)
    for agent in start_two(cluster, 16, ["--rank_table_file", file], PRINT):
        agent.expect(0)
    for rank, (env, table) in enumerate(told(cluster, 16)):
        assert (env["RANK"], env["RANK_TABLE_FILE"], env["DEVICE_ID"]) == (str(rank), str(file), str(rank % 8))
        assert table == json.loads(DOCUMENTS_TABLE)


def test_super_pods_make_a_table_of_version_12(cluster):
    words = ["--hccl_mode", "table", "--super_device_ids", "16,17"]
    agents = start_two(cluster, 4, words, PRINT, lambda i: ["--super_pod", "pod-%d" % i, "--device_ips",
                                                            ",".join(DEVICE_IPS[i][:2])])
    for agent in agents:
        agent.expect(0)
    (_, table), *others = told(cluster, 4)
    assert table["version"] == "1.2" and all(other == table for _, other in others)
    assert table["super_pod_list"] == [
        {"super_pod_id": "pod-%d" % i, "server_list": [{"server_id": HOSTS[i]}]} for i in range(2)]
    assert [[device["super_device_id"] for device in server["device"]] for server in table["server_list"]] == [
        ["16", "17"]] * 2
    file = cluster.folder / "table.json"
    file.write_text(json.dumps(table))
    assert "follows all rules: version 1.2, 2 servers, 4 devices\n" in cluster.ctl("ranktable", "--check", file)


def test_a_broken_table_is_refused_at_the_start(cluster):
    file = cluster.folder / "table.json"
    file.write_text(DOCUMENTS_TABLE.replace("192.168.103.112", "192.168.103.102"))
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--worker_ip", HOSTS[0], "--local_worker_num", 8,
                                    "--", "true"], env={"RANK_TABLE_FILE": file})
    agent.expect(2)
    assert "device_ip 192.168.103.102 appears twice" in agent.output(), agent.output()
    assert "(server_list[1].device[7]; write the address that hccn_tool -i 7 -ip -g prints" in agent.output()


def test_a_device_without_address_is_named_before_anything_starts(cluster):
    words = ["--hccl_mode", "table", "--max_restarts", 0]
    agents = start_two(cluster, 4, words, ["sleep", "100"],
                       lambda i: ["--device_ips", "192.168.0.1,192.168.1.1"] if i == 0 else [],
                       lambda i: {"MUSTER_HOST_ROOT": str(cluster.folder)})
    for agent in agents:
        assert agent.wait(20) != 0
        assert "device_ip_needed" in agent.output(), agent.output()
    said = agents[1].output()
    assert "devices 0, 1 are not known (there is no %s/etc/hccn.conf; hccn_tool is not installed)" % cluster.folder in said


def test_a_reader_of_the_link_never_finds_half_a_table_or_none(cluster):
    """Over several rounds, a process reads all the time, as a tool next to the job does."""
    last = 4
    script = ("if [ $RANK = 0 ] && [ ! -e link ]; then dirname $RANK_TABLE_FILE > link.new; mv link.new link; fi;"
              "here=files-$MS_ROUND; echo $RANK_TABLE_FILE >> $here; test $RANK = 3 -o $MS_ROUND = %d || sleep 100;"
              "while [ ! -e reading ] || [ $(wc -l < $here) -lt 4 ]; do sleep 0.02; done; test $MS_ROUND = %d || exit 7;"
              "while [ ! -e over ]; do sleep 0.02; done" % (last, last))
    words = ["--hccl_mode", "table", "--enable_recovery", 1, "--max_restarts", 20]
    agents = start_two(cluster, 4, words, ["sh", "-c", script],
                       lambda i: ["--device_ips", ",".join(DEVICE_IPS[i][:2])])
    eventually((cluster.folder / "link").exists, 20, "rank 0 has said where its table is")
    link = (cluster.folder / "link").read_text().strip() + "/rank_table.json"
    result, stop = cluster.folder / "result.json", cluster.folder / "stop"
    reader = cluster.start("reader", ["python3", SCRIPTS / "read_rank_table.py", link, result, stop])
    (cluster.folder / "reading").touch()
    eventually((cluster.folder / ("files-%d" % last)).exists, 30, "rounds have passed")
    stop.touch()
    reader.expect(0)
    (cluster.folder / "over").touch()
    for agent in agents:
        agent.expect(0)
    found = json.loads(result.read_text())
    assert found["reads"] > 100 and not found["bad"], found
    assert len(found["tables"]) >= 3, found
    for number in range(1, last + 1):
        files = (cluster.folder / ("files-%d" % number)).read_text().split()
        assert len(files) == 4 and {file.rsplit("/", 1)[1] for file in files} == {"rank_table-%d.json" % number}, files


def test_what_ranktable_cannot_do_is_said(cluster):
    def says(code, *words):
        return cluster.ctl("ranktable", *words, code=code)
    cluster.start_scheduler()
    assert "there is no job yet" in says(2)
    agent = cluster.start_agent("agent", ["--worker_num", 1, "--node_id", "n0"], ["sleep", "100"])
    cluster.wait_until_running(1)
    assert "node n0 (rank 0) has reported no device: start all nodes with --hccl_mode table" in says(1)
    assert "no-such-table" in says(1, "--check", cluster.folder / "no-such-table.json")
    assert "contradict each other" in says(2, "--check", "t.json", "--for", 2)
    assert "--hosts names 1 nodes" in says(2, "--for", 2, "--hosts", "10.0.0.1")
    assert "--device_ips is given 1 times" in says(2, "--for", 2, "--hosts", "10.0.0.1,10.0.0.2", "--device_ips", "1.1.1.1")
    assert '"node-b" is no numeric address' in says(2, "--for", 1, "--hosts", "node-b", "--device_ips", "1.1.1.1")
    one = json.loads(says(0, "--for", 1, "--hosts", "10.0.0.1", "--device_ips", "4=1.1.1.1,5=1.1.1.2"))
    assert [device["device_id"] for device in one["server_list"][0]["device"]] == ["4", "5"]
    assert "device_ip_unique" in says(1, "--for", 2, "--hosts", "10.0.0.1,10.0.0.2", "--device_ips", "1.1.1.1",
                                      "--device_ips", "1.1.1.1")
    assert agent.is_running()
