#!/usr/bin/env python3
"""Measures how fast the page is for a large job, in Debian's Chromium without a graphics card: first paint, the job's map,
frames while nodes change, memory of the tab.

    MUSTER_BIN=build/bin /usr/bin/python3 tests/tools/page_load.py [--nodes 12500] [--changes 100] [--seconds 60]

The documents are those of a real scheduler with one node of 8 ranks, repeated for so many nodes and served by a
stand-in: a real job of that size needs more descriptors than one machine may have. The page's files are the tree's.
"""
import argparse
import copy
import http.server
import json
import pathlib
import random
import statistics
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))

import browser  # noqa: E402
import http_client  # noqa: E402
import muster  # noqa: E402

ASSETS = ROOT / "scheduler" / "http" / "page" / "assets"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
SLOTS = 8
FRAMES = """
window.frames_ = []; let last = performance.now();
const next = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(next); };
requestAnimationFrame((now) => { last = now; requestAnimationFrame(next); });
"""


def record():
    """Records the answers of a real scheduler, by path."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-page-"))
    cluster = muster.Cluster(folder)
    try:
        port = http_client.port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0"))
        cluster.start_agent("a", ["--node_id", "n0", "--worker_num", SLOTS, "--local_worker_num", SLOTS, "--label", "rack=0"],
                            ["sh", "-c", "echo 5 > $MS_PROGRESS_FILE; exec sleep 1000"])
        cluster.wait_until_running(SLOTS)
        time.sleep(2)  # until the progress has been reported
        paths = ["session", "jobs", "events", *("jobs/default/" + what for what in ("why", "nodes", "ranks", "map?names=1"))]
        return {path: json.loads(http_client.ask(port, "/api/v1/" + path)[2]) for path in paths}
    finally:
        cluster.close()


class Replay:
    """The job, with `count` nodes, some of which change all the time."""

    def __init__(self, recorded, count):
        self.recorded, self.count = recorded, count
        self.nodes, self.slots = ["c"] * count, ["r"] * (count * SLOTS)
        self.number, self.events, self.changed = 10, [], threading.Condition()
        template = recorded["jobs/default/map?names=1"]["names"][0]
        names = [dict(template, node_id="n%d" % i, host_name="host-%05d" % i, label="rack=%d" % (i // 50), ranks=[i * SLOTS, SLOTS])
                 for i in range(count)]
        self.names = json.dumps(names)
        self.answers = {path: copy.deepcopy(document) for path, document in recorded.items()}
        run = self.answers["jobs"]["runs"][0]
        run.update(nodes_here=count, processes_running=count * SLOTS)
        run["settings"]["worker_num"] = count * SLOTS
        self.answers["jobs/default/nodes"]["jobs"][0].update(
            total=count, nodes=[dict(recorded["jobs/default/nodes"]["jobs"][0]["nodes"][0], node_id="n%d" % i) for i in range(500)])
        self.answers["jobs/default/ranks"]["jobs"][0].update(
            total=count * SLOTS, ranks=[dict(recorded["jobs/default/ranks"]["jobs"][0]["ranks"][0], rank=i, step=i % 97) for i in range(500)])

    def change(self, node):
        away = self.nodes[node] == "c"
        with self.changed:
            self.nodes[node] = "d" if away else "c"
            for slot in range(node * SLOTS, node * SLOTS + SLOTS):
                self.slots[slot] = "a" if away else "r"
            self.number += 1
            self.events.append({"event": dict(
                self.recorded["events"]["events"][0], number=self.number, unix_ms=int(time.time() * 1000), last_lines=[],
                kind="node_disconnected" if away else "node_returned", text="node n%d %s" % (node, "is away" if away else "is back"))})
            self.changed.notify_all()

    def document(self, target):
        path = target.path[len("/api/v1/"):]
        if path == "jobs/default/map":
            head = dict(self.recorded["jobs/default/map?names=1"], nodes="".join(self.nodes), slots="".join(self.slots),
                        names_version="%016x" % 7, names=[])
            text = json.dumps(head)
            return text[:text.rindex("[]")] + self.names + "}" if "names=1" in target.query else text
        return json.dumps(self.answers[path]) if path in self.answers else None


def handler(replay):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_words):
            pass

        def do_GET(self):
            target = urllib.parse.urlsplit(self.path)
            if target.path == "/api/v1/changes":
                return self.stream()
            if target.path.startswith("/api/"):
                body, kind = replay.document(target), "application/json"
            else:
                file = ASSETS / (target.path.strip("/") or "index.html")
                body, kind = (file.read_text(), KINDS[file.suffix]) if file.is_file() else (None, "")
            body = (body or "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def stream(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            sent = 0
            try:
                while True:
                    with replay.changed:
                        replay.changed.wait_for(lambda: len(replay.events) > sent, timeout=10)
                        fresh, sent = replay.events[sent:], len(replay.events)
                    for event in fresh:
                        self.wfile.write(("id: %d\ndata: %s\n\n" % (event["event"]["number"], json.dumps(event))).encode())
                    self.wfile.flush()
            except OSError:
                pass  # the page is gone
    return Handler


def tab_bytes(page):
    """The size of the tab's objects after a collection, and its number of elements."""
    page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    metrics = {one["name"]: one["value"] for one in page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]}
    return metrics["JSHeapUsedSize"], int(metrics["Nodes"])


def main():
    parser = argparse.ArgumentParser(description="How fast the page is for a large job.")
    parser.add_argument("--nodes", type=int, default=12500)
    parser.add_argument("--changes", type=int, default=100, help="nodes that change in a second")
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    muster.become_subreaper()
    replay = Replay(record(), arguments.nodes)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(replay))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.Browser()
    page.driver.execute_cdp_cmd("Performance.enable", {})
    begun = time.monotonic()
    page.open(server.server_port, "#/job/default")
    page.see("places for ranks", selector=".map-tools, main")
    seen = time.monotonic() - begun
    paint = page.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
    print("%d nodes, %d ranks: first paint %.0f ms, the map is there after %.2f s" %
          (arguments.nodes, arguments.nodes * SLOTS, paint, seen))
    time.sleep(3)
    page.run(FRAMES)
    before = None
    chance = random.Random(27)
    begun = time.monotonic()
    done = 0
    while (passed := time.monotonic() - begun) < arguments.seconds:
        while done < passed * arguments.changes:
            replay.change(chance.randrange(arguments.nodes))
            done += 1
        if before is None and passed > min(30, arguments.seconds / 3):  # by then all its lists are full
            before = tab_bytes(page)
            page.run("frames_.length = 0")
        time.sleep(0.005)
    frames = sorted(page.run("return frames_"))
    after = tab_bytes(page)
    print("%d changes a second for %d s: frames p50 %.1f ms, p95 %.1f ms, p99 %.1f ms, longest %.0f ms, of %d" %
          (arguments.changes, arguments.seconds, statistics.median(frames), frames[int(len(frames) * 0.95)],
           frames[int(len(frames) * 0.99)], frames[-1], len(frames)))
    print("tab: %.1f MB and %d elements after its first %d s, %.1f MB and %d at the end" %
          (before[0] / 1e6, before[1], min(30, arguments.seconds / 3), after[0] / 1e6, after[1]))
    errors = page.errors()
    if errors:
        sys.exit("the console has errors: %s" % errors)
    page.close()


main()
