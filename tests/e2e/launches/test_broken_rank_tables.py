"""Broken rank tables: ms-ctl ranktable --check names the rule and the entry for each, and ends with 1."""

import copy
import json
import pathlib
import re
import subprocess

import pytest

from muster import BIN, ROOT

# Version 1.0: two servers of eight devices.
GOOD = {"version": "1.0", "status": "completed", "server_count": "2", "server_list": [
    {"server_id": "10.0.0.%d" % (server + 1), "device": [
        {"device_id": str(i), "device_ip": "192.168.%d.%d" % (100 + i % 4, 101 + 10 * server + i // 4),
         "rank_id": str(8 * server + i)} for i in range(8)]} for server in range(2)]}

# Version 1.2: four servers of two devices, in two super pods.
PODS = {"version": "1.2", "status": "completed", "server_count": "4", "server_list": [
    {"server_id": "10.0.0.%d" % server, "host_ip": "10.0.0.%d" % server, "device": [
        {"device_id": str(i), "super_device_id": str(2 * (server % 2) + i), "device_ip": "192.168.%d.%d" % (server, i),
         "device_port": "16666", "backup_device_ip": "192.168.%d.%d" % (server, 1 - i), "backup_device_port": "16667",
         "host_port": "16665", "device_vnic_port": "16668", "rank_id": str(2 * server + i)}
        for i in range(2)]} for server in range(4)],
    "super_pod_list": [{"super_pod_id": str(pod), "server_list": [
        {"server_id": "10.0.0.%d" % (2 * pod + i)} for i in range(2)]} for pod in range(2)]}

NOTHING = object()


def at(path, value=NOTHING, good=GOOD):
    """Changes the value of `good` at the path, "server_list/1/device/0/rank_id", or removes it."""
    table = copy.deepcopy(good)
    *folders, name = [int(word) if word.isdigit() else word for word in path.split("/")]
    place = table
    for word in folders:
        place = place[word]
    if value is NOTHING:
        del place[name]
    elif isinstance(place, list) and name == len(place):
        place.append(value)
    else:
        place[name] = value
    return json.dumps(table)


def pods(path, value=NOTHING):
    return at(path, value, PODS)


def addresses(change):
    table = copy.deepcopy(GOOD)
    for server in table["server_list"]:
        for device in server["device"]:
            device["device_ip"] = "%s,%s" % (device["device_ip"], device["device_ip"].replace("192.", "172."))
    change(table["server_list"][1]["device"][3])
    return json.dumps(table)


def ranks(change):
    table = copy.deepcopy(GOOD)
    for server in table["server_list"]:
        for device in server["device"]:
            device["rank_id"] = str(change(int(device["rank_id"])))
    return json.dumps(table)


ALL = "the table"
S1, S1_HERE = "server_list/1", "server_list[1]"
D, HERE = "server_list/1/device/3", "server_list[1].device[3]"
P_D, P_HERE = "server_list/1/device/1", "server_list[1].device[1]"
POD, POD_HERE = "super_pod_list/1", "super_pod_list[1]"

# What is wrong, the change, the rule, the entry.
BROKEN = [
    ("status missing", at("status"), "status", ALL),
    ("status initializing", at("status", "initializing"), "status", ALL),
    ("status in capitals", at("status", "COMPLETED"), "status", ALL),
    ("status a number", at("status", 1), "status", ALL),
    ("version missing", at("version"), "version", ALL),
    ("version 1.1", at("version", "1.1"), "version", ALL),
    ("version 2.0", at("version", "2.0"), "version", ALL),
    ("version 2.0 in its own format", json.dumps({
        "version": "2.0", "status": "completed", "rank_count": 1,
        "rank_list": [{"rank_id": 0, "local_id": 0, "device_id": 0, "level_list": []}]}), "version", ALL),
    ("the format of 2020", json.dumps({
        "board_id": "0x0000", "group_count": "1", "group_list": [{"device_num": "1", "instance_list": [
            {"devices": [{"device_id": "0", "device_ip": "192.168.1.1"}], "rank_id": "0", "server_id": "10.0.0.1"}]}],
        "status": "completed"}), "version", ALL),
    ("version a fraction", at("version", 1.0), "version", ALL),
    ("server_count missing", at("server_count"), "server_count", ALL),
    ("server_count 0", at("server_count", "0"), "server_count", ALL),
    ("server_count too high", at("server_count", "3"), "server_count", ALL),
    ("server_count too low", at("server_count", "1"), "server_count", ALL),
    ("server_count a word", at("server_count", "two"), "server_count", ALL),
    ("server_count negative", at("server_count", "-2"), "server_count", ALL),
    ("server_count empty", at("server_count", ""), "server_count", ALL),
    ("server_count a fraction", at("server_count", 2.5), "server_count", ALL),
    ("server_count beyond all numbers", at("server_count", "9" * 40), "server_count", ALL),
    ("server_list missing", at("server_list"), "server_list", ALL),
    ("server_list empty", at("server_list", []), "server_list", ALL),
    ("server_list an object", at("server_list", {}), "server_list", ALL),
    ("server_list null", at("server_list", None), "server_list", ALL),
    ("a server is a text", at(S1, "10.0.0.2"), "server_object", S1_HERE),
    ("a server is null", at(S1, None), "server_object", S1_HERE),
    ("server_id missing", at(S1 + "/server_id"), "server_id", S1_HERE),
    ("server_id empty", at(S1 + "/server_id", ""), "server_id", S1_HERE),
    ("server_id too long", at(S1 + "/server_id", "s" * 64), "server_id", S1_HERE),
    ("server_id a list", at(S1 + "/server_id", ["10.0.0.2"]), "server_id", S1_HERE),
    ("server_id twice", at(S1 + "/server_id", "10.0.0.1"), "server_id_unique", S1_HERE),
    ("host_ip a name", at(S1 + "/host_ip", "node-b"), "host_ip", S1_HERE),
    ("host_ip empty", at(S1 + "/host_ip", ""), "host_ip", S1_HERE),
    ("host_ip cut", at(S1 + "/host_ip", "10.0.0"), "host_ip", S1_HERE),
    ("host_ip link-local", at(S1 + "/host_ip", "fe80::1%eth0"), "link_local", S1_HERE),
    ("device missing", at(S1 + "/device"), "device_list", S1_HERE),
    ("device empty", at(S1 + "/device", []), "device_list", S1_HERE),
    ("device an object", at(S1 + "/device", {"device_id": "0"}), "device_list", S1_HERE),
    ("thousands of devices", at(S1 + "/device", [{}] * 5000), "device_count", S1_HERE),
    ("a device is a text", at(D, "3"), "device_object", HERE),
    ("a device is null", at(D, None), "device_object", HERE),
    ("device_id missing", at(D + "/device_id"), "device_id", HERE),
    ("device_id negative", at(D + "/device_id", "-1"), "device_id", HERE),
    ("device_id a word", at(D + "/device_id", "davinci3"), "device_id", HERE),
    ("device_id too high", at(D + "/device_id", "65536"), "device_id", HERE),
    ("device_id with a space", at(D + "/device_id", " 3"), "device_id", HERE),
    ("device_id a fraction", at(D + "/device_id", 3.5), "device_id", HERE),
    ("device_id twice", at(D + "/device_id", "2"), "device_id_unique", HERE),
    ("rank_id missing", at(D + "/rank_id"), "rank_id", HERE),
    ("rank_id negative", at(D + "/rank_id", "-11"), "rank_id", HERE),
    ("rank_id with an exponent", at(D + "/rank_id", "1e1"), "rank_id", HERE),
    ("rank_id beyond all jobs", at(D + "/rank_id", "99999999999"), "rank_id", HERE),
    ("rank_id null", at(D + "/rank_id", None), "rank_id", HERE),
    ("rank_id twice", at(D + "/rank_id", "0"), "rank_id_unique", HERE),
    ("a gap in the ranks", at("server_list/1/device/7/rank_id", "16"), "rank_id_no_gap", "server_list[1].device[7]"),
    ("ranks from 1", ranks(lambda rank: rank + 1), "rank_id_no_gap", "server_list[0].device[0]"),
    ("only even ranks", ranks(lambda rank: 2 * rank), "rank_id_no_gap", "server_list[0].device[1]"),
    ("device_ip missing", at(D + "/device_ip"), "device_ip_needed", HERE),
    ("device_ip empty", at(D + "/device_ip", ""), "device_ip_needed", HERE),
    ("device_ip cut", at(D + "/device_ip", "192.168.103"), "device_ip", HERE),
    ("device_ip link-local", at(D + "/device_ip", "fe80::1"), "link_local", HERE),
    ("device_ip any", at(D + "/device_ip", "0.0.0.0"), "device_ip", HERE),
    ("device_ip a name", at(D + "/device_ip", "device-3"), "device_ip", HERE),
    ("device_ip with its netmask", at(D + "/device_ip", "192.168.103.9/24"), "device_ip", HERE),
    ("device_ip a number", at(D + "/device_ip", 3232261987), "device_ip", HERE),
    ("device_ip a list", at(D + "/device_ip", ["192.168.103.9"]), "device_ip", HERE),
    ("device_ip too long", at(D + "/device_ip", "1" * 2000), "device_ip", HERE),
    ("device_ip twice on a server", at(D + "/device_ip", "192.168.102.111"), "device_ip_unique", HERE),
    ("device_ip twice on two servers", at(D + "/device_ip", "192.168.100.101"), "device_ip_unique", HERE),
    ("device_ip twice in two writings", at(D + "/device_ip", "::ffff:192.168.100.101"), "device_ip_unique", HERE),
    ("one address, others have two", addresses(lambda d: d.update(device_ip="192.168.103.9")), "device_ip_count", HERE),
    ("three addresses, others have two", addresses(lambda d: d.update(device_ip="7.0.0.1,7.0.0.2,7.0.0.3")),
     "device_ip_count", HERE),
    ("a comma at the end", addresses(lambda d: d.update(device_ip="192.168.103.9,")), "device_ip", HERE),
    ("device_port too high", at(D + "/device_port", "65536"), "device_port", HERE),
    ("device_port a word", at(D + "/device_port", "http"), "device_port", HERE),
    ("cut off", json.dumps(GOOD)[:-20], "json", ALL),
    ("empty", "", "json", ALL),
    ("a list", json.dumps([GOOD]), "json", ALL),
    ("a comma too many", json.dumps(GOOD)[:-1] + ",\n}", "json", ALL),
    ("a comment", "# ranks\n" + json.dumps(GOOD), "json", ALL),
    ("without end", '{"server_list":' + "[" * 100000, "json", ALL),
    ("version 1.3", pods("version", "1.3"), "version", ALL),
    ("backup_device_ip a name", pods(P_D + "/backup_device_ip", "other"), "backup_device_ip", P_HERE),
    ("backup_device_ip any", pods(P_D + "/backup_device_ip", "::"), "backup_device_ip", P_HERE),
    ("backup_device_port too high", pods(P_D + "/backup_device_port", "70000"), "backup_device_port", P_HERE),
    ("host_port empty", pods(P_D + "/host_port", ""), "host_port", P_HERE),
    ("device_vnic_port negative", pods(P_D + "/device_vnic_port", "-1"), "device_vnic_port", P_HERE),
    ("super_device_id a word", pods(P_D + "/super_device_id", "x"), "super_device_id", P_HERE),
    ("super_device_id too high", pods(P_D + "/super_device_id", str(1 << 32)), "super_device_id", P_HERE),
    ("super_device_id twice", pods(P_D + "/super_device_id", "0"), "super_device_id_unique", P_HERE),
    ("super_pod_list an object", pods("super_pod_list", {}), "super_pod_list", ALL),
    ("super_pod_list empty", pods("super_pod_list", []), "super_pod_complete", "server_list[0]"),
    ("a super pod is a text", pods(POD, "1"), "super_pod_server_list", POD_HERE),
    ("a super pod without servers", pods(POD + "/server_list"), "super_pod_server_list", POD_HERE),
    ("a super pod's servers are a text", pods(POD + "/server_list", "10.0.0.2"), "super_pod_server_list", POD_HERE),
    ("its server is a text", pods(POD + "/server_list/0", "10.0.0.2"), "super_pod_server_id",
     POD_HERE + ".server_list[0]"),
    ("its server has no id", pods(POD + "/server_list/0/server_id"), "super_pod_server_id",
     POD_HERE + ".server_list[0]"),
    ("super_pod_id missing", pods(POD + "/super_pod_id"), "super_pod_id", POD_HERE),
    ("super_pod_id twice", pods(POD + "/super_pod_id", "0"), "super_pod_id_unique", POD_HERE),
    ("a server in two super pods", pods(POD + "/server_list/2", {"server_id": "10.0.0.0"}), "super_pod_server_unique",
     POD_HERE + ".server_list[2]"),
    ("a server in no super pod", pods(POD + "/server_list/1"), "super_pod_complete", "server_list[3]"),
    ("a super pod names a stranger", pods(POD + "/server_list/2", {"server_id": "10.0.0.9"}), "super_pod_server_known",
     POD_HERE),
    ("device_ip missing between super pods", pods(P_D + "/device_ip"), "device_ip_needed", P_HERE),
]

# Found by a name that does not appear next to the rule's check.
OF_NUMBERS = {"device_id", "rank_id", "super_device_id", "device_port", "backup_device_port", "host_port",
              "device_vnic_port"}


def check(folder, text):
    file = pathlib.Path(folder) / "table.json"
    file.write_text(text)
    done = subprocess.run([BIN / "ms-ctl", "ranktable", "--check", file, "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=20)
    return done.returncode, json.loads(done.stdout)


def test_whole_tables_are_good(tmp_path):
    for good in GOOD, PODS:
        code, report = check(tmp_path, json.dumps(good))
        assert (code, report["is_good"], report["problems"], report["remarks"]) == (0, True, [], []), report


@pytest.mark.parametrize("part", range(4))
def test_each_broken_rule_is_named_with_its_entry(tmp_path, part):
    for name, text, rule, entry in BROKEN[part::4]:
        code, report = check(tmp_path, text)
        assert code == 1 and not report["is_good"], name
        first = report["problems"][0]
        assert (first["rule"], first["entry"]) == (rule, entry), (name, report["problems"])
        assert first["found"] and first["write"], (name, first)


def test_every_rule_is_broken_once():
    assert len(BROKEN) >= 80 and len({text for _, text, _, _ in BROKEN}) == len(BROKEN)
    rules = set(OF_NUMBERS)
    for name in "rank_table.cc", "rank_table_check.cc":
        source = (ROOT / "worker_agent" / "launch" / name).read_text()
        rules |= set(re.findall(r'\bAdd\(\s*"(\w+)"', source))
    assert {rule for _, _, rule, _ in BROKEN} == rules


def test_what_is_allowed_but_not_advised_is_remarked(tmp_path):
    def remarks(text):
        code, report = check(tmp_path, text)
        assert code == 0, report
        return " ".join(report["remarks"])
    assert "numbers" in remarks(at("server_count", 2))
    table = copy.deepcopy(GOOD)
    table["server_list"].reverse()
    assert "don't rise" in remarks(json.dumps(table))
    assert "as many devices" in remarks(at("server_list/1/device/7"))
    assert "device_id 64" in remarks(at("server_list/1/device/7/device_id", "64"))
    assert "without super_pod_list" in remarks(pods("super_pod_list"))
    assert "super_device_id" in remarks(pods(P_D + "/super_device_id"))
