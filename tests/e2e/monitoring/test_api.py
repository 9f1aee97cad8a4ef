"""/api/v1/ has the same documents as ms-ctl --json, as docs/api/openapi.json describes them."""

import json
import random
import re
import time
import urllib.parse

import pytest

import http_client
from http_client import ask, port_of
from muster import ROOT, SLOWNESS, WITH_TLS, eventually

SPEC = json.loads((ROOT / "docs" / "api" / "openapi.json").read_text())
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}

pytestmark = pytest.mark.skipif(WITH_TLS, reason="asks in plain text")


def violations(value, schema, where="$"):
    """The parts of `value` that do not fit the schema."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return violations(value, SPEC["components"]["schemas"][name], where)
    if value is None:
        return [] if schema.get("nullable") else ["%s is null" % where]
    found = [wrong for part in schema.get("allOf", []) for wrong in violations(value, part, where)]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        return found + ["%s is no %s: %r" % (where, kind, value)]
    if "enum" in schema and value not in schema["enum"]:
        found.append("%s is %r" % (where, value))
    if kind == "array":
        for i, item in enumerate(value):
            found += violations(item, schema["items"], "%s[%d]" % (where, i))
    if kind == "object":
        known = schema.get("properties", {})
        found += ["%s lacks %s" % (where, name) for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            if name in known:
                found += violations(member, known[name], "%s.%s" % (where, name))
            elif schema.get("additionalProperties") is False:
                found.append("%s has %s" % (where, name))
            else:
                found += violations(member, schema["additionalProperties"], "%s.%s" % (where, name))
    return found


def check(path, status, headers, text):
    """Checks that the document describes the answer."""
    responses = SPEC["paths"][path]["get"]["responses"]
    assert str(status) in responses, (path, status, text)
    content = responses[str(status)]["content"]
    assert headers["Content-Type"].split(";")[0] in content, headers
    schema = content.get("application/json", {}).get("schema")
    if schema:
        assert not violations(json.loads(text), schema), violations(json.loads(text), schema)


def get(port, path, **query):
    target = path.replace("{job}", "default")
    answer = ask(port, target + ("?" + urllib.parse.urlencode(query) if query else ""))
    check(path, *answer)
    return json.loads(answer[2]) if answer[0] == 200 else answer[0]


def without_times(document):
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items()
                if key not in ("up_ms", "age_ms", "last_seen_ms", "since_progress_ms", "time_left_ms")}
    return [without_times(one) for one in document] if isinstance(document, list) else document


def test_documents_are_those_of_ms_ctl(cluster):
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0"))
    assert get(port, "/api/v1/jobs")["runs"] == [] and get(port, "/api/v1/events")["events"] == []
    assert get(port, "/api/v1/jobs/{job}") == 404 and get(port, "/api/v1/jobs/{job}/nodes") == 404
    for name in ("a", "b"):
        cluster.start_agent(name, ["--node_id", name, "--worker_num", 4, "--local_worker_num", 2], ["sleep", "1000"])
    cluster.wait_until_running(4)
    failing = cluster.start_agent("c", ["--job_id", "bad", "--worker_num", 1], ["sh", "-c", "echo my last line; exit 3"])
    failing.expect(3)
    time.sleep(0.3)  # one answer serves all clients for a quarter of a second
    for path, command in (("/api/v1/jobs", "status"), ("/api/v1/jobs/{job}", "status --job default"),
                          ("/api/v1/jobs/{job}/nodes", "nodes --job default"),
                          ("/api/v1/jobs/{job}/ranks", "ranks --job default"), ("/api/v1/events", "events"),
                          ("/api/v1/counters", "counters")):
        ours, theirs = without_times(get(port, path)), without_times(cluster.ctl_json(*command.split()))
        assert ours == theirs, path
    assert "my last line" in json.dumps(get(port, "/api/v1/jobs")), "as `ms-ctl status` shows it to everyone here"

    assert get(port, "/api/v1/jobs/{job}/why")["runs"][0]["text"] == cluster.ctl("why", "--job", "default")
    drawn = get(port, "/api/v1/jobs/{job}/map", names=1)
    assert (drawn["nodes"], drawn["slots"]) == ("cc", "rrrr"), drawn
    assert [(name["node_id"], name["ranks"]) for name in drawn["names"]] == [("a", [0, 2]), ("b", [2, 2])], drawn
    again = get(port, "/api/v1/jobs/{job}/map")
    assert again["names"] == [] and again["names_version"] == drawn["names_version"]

    ranks = [get(port, "/api/v1/jobs/{job}/ranks", offset=i, limit=1)["jobs"][0] for i in range(5)]
    assert [[rank["rank"] for rank in page["ranks"]] for page in ranks] == [[0], [1], [2], [3], []]
    assert {page["total"] for page in ranks} == {4}
    nodes = [get(port, "/api/v1/jobs/{job}/nodes", offset=i, limit=1)["jobs"][0]["nodes"] for i in range(2)]
    assert sorted(page[0]["node_id"] for page in nodes) == ["a", "b"]
    told, after = [], 0
    while page := get(port, "/api/v1/events", after=after, limit=3)["events"]:
        told, after = told + page, page[-1]["number"]
    assert told == get(port, "/api/v1/events")["events"] and len(told) > 3
    assert {event["job_id"] for event in get(port, "/api/v1/events", job="bad")["events"]} == {"bad"}


def test_whatever_is_asked_the_answer_is_described(cluster):
    """Random parameters: no server error, and only answers that the document describes."""
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0"))
    cluster.start_agent("a", ["--worker_num", 1], ["sleep", "1000"])
    cluster.wait_until_running(1)
    dice = random.Random(25)
    values = ["", "0", "1", "-1", "500", "501", "4294967295", "4294967296", "18446744073709551615",
              "18446744073709551616", "x", "1e3", "0x10", "default", "a b", "../..", "'", "\u00e9", "a" * 300, "%", "\\"]
    seen = set()
    for _ in range(300):
        path = dice.choice(sorted(path for path, methods in SPEC["paths"].items()
                                  if "get" in methods and path != "/api/v1/changes"))  # it does not end
        names = [one["name"] for one in SPEC["paths"][path]["get"]["parameters"] if one["in"] == "query"] + ["other"]
        query = {name: dice.choice(values) for name in dice.sample(names, dice.randrange(len(names) + 1))}
        job = dice.choice(["default", *[value for value in values if value and value[0] not in "./\\"]])
        target = path.replace("{job}", urllib.parse.quote(job, safe=""))
        answer = ask(port, target + ("?" + urllib.parse.urlencode(query) if query else ""))
        seen.add(answer[0])
        if answer[1]["Content-Type"].startswith("text/plain"):
            assert answer[0] == 400, answer  # no path, or no query at all
        else:
            check(path, *answer)
    assert seen == {200, 400, 404}, seen


def open_changes(port, headers=""):
    client = http_client.connect(port)
    client.sendall(("GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % headers).encode())
    return client


def read_until(client, done):
    text = b""
    while not done(text):
        piece = client.recv(65536)
        assert piece, "the stream ended: %r" % text
        text += piece
    return text.decode()


def events_of(text):
    return [(int(number), json.loads(data)["event"]) for number, data in re.findall(r"^id: (\d+)\ndata: (.*)$", text, re.M)]


def test_changes_are_shown_as_they_happen(cluster):
    scheduler = cluster.start_scheduler("--http_address", "127.0.0.1:0")
    port = port_of(scheduler)
    client = open_changes(port)
    assert "text/event-stream" in read_until(client, lambda text: b"\r\n\r\n" in text)
    cluster.start_agent("a", ["--worker_num", 1], ["sleep", "1000"])
    told = events_of(read_until(client, lambda text: b"formed" in text and text.endswith(b"\n\n")))
    late = time.time() - told[-1][1]["unix_ms"] / 1000
    assert late < 1 * SLOWNESS, "%.1f s late" % late
    listed = get(port, "/api/v1/events")["events"]
    assert [event for _, event in told] == listed[:len(told)]
    assert [number for number, _ in told] == [event["number"] for _, event in told]
    again = open_changes(port, "Last-Event-ID: %d\r\n" % told[0][0])
    rest = events_of(read_until(again, lambda text: b"formed" in text and text.endswith(b"\n\n")))
    assert rest == told[1:]

    clients = [open_changes(port) for _ in range(70)]
    answers = [read_until(one, lambda text: b"\r\n\r\n" in text).split()[1] for one in clients]
    assert answers.count("200") == 62 and answers.count("503") == 8, "64 streams at once"
    assert ask(port, "/metrics")[0] == 200
    for one in clients:
        one.close()
    eventually(lambda: open_changes(port).recv(100).split()[1] == b"200", 5, "places are free again")
    scheduler.send(15)
    scheduler.expect(0)
    again.settimeout(5)
    while again.recv(65536):
        pass
