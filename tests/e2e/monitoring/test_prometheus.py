"""A real Prometheus with the alerts and the dashboard of this tree."""

import json
import math
import re
import shutil
import subprocess
import urllib.parse
import urllib.request

import pytest

import http_client
import muster
from muster import ROOT, WITH_TLS, eventually

MONITORING = ROOT / "deploy" / "monitoring"
CONFIG = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: muster
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""

pytestmark = [pytest.mark.skipif(WITH_TLS, reason="scrapes in plain text"),
              pytest.mark.skipif(shutil.which("prometheus") is None, reason="Debian's package prometheus is missing")]


class Prometheus:
    def __init__(self, cluster, target):
        folder = cluster.folder / "prometheus"
        folder.mkdir()
        shutil.copy(MONITORING / "alerts.yml", folder)
        (folder / "prometheus.yml").write_text(CONFIG % target)
        self.port = muster.free_port()
        cluster.start("prometheus", ["prometheus", "--config.file", folder / "prometheus.yml", "--storage.tsdb.path",
                                     folder / "data", "--web.listen-address", "127.0.0.1:%d" % self.port])

    def get(self, path, **query):
        url = "http://127.0.0.1:%d/api/v1/%s?%s" % (self.port, path, urllib.parse.urlencode(query))
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            return {}

    def values(self, query):
        return [float(one["value"][1]) for one in self.get("query", query=query).get("result", [])]

    def firing(self):
        alerts = self.get("alerts").get("alerts", [])
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def test_rules_are_right():
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(["promtool", *words], cwd=MONITORING, text=True, capture_output=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_line_in_the_runbook():
    names = re.findall(r"alert: (\w+)", (MONITORING / "alerts.yml").read_text())
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs" / "monitoring.md").read_text(), re.M)
    assert names and sorted(names) == sorted(headings)
    links = re.findall(r"monitoring.md#(\w+)", (MONITORING / "alerts.yml").read_text())
    assert links == [name.lower() for name in names]


def dashboard_queries():
    for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$instance", ".*").replace("$__rate_interval", "1m")


def test_an_alert_fires_for_a_lost_node_and_resolves_and_the_dashboard_has_data(cluster):
    scheduler = cluster.start_scheduler("--http_address", "127.0.0.1:0", "--enable_recovery", "1", "--heartbeat_interval",
                                        "0.2", "--worker_num", "2", "--journal_path", cluster.folder / "journal.db")
    port = http_client.port_of(scheduler)
    assert http_client.ask(port, "/metrics", method="DELETE")[0] == 405  # so that there is something to count
    prometheus = Prometheus(cluster, port)
    command = ["sleep", "1000"]
    agents = {name: cluster.start_agent(name, ["--node_id", name], command) for name in ("a", "b")}
    cluster.wait_until_running(2)
    eventually(lambda: prometheus.values("muster_job_nodes{state='connected'}") == [2], 30, "Prometheus sees two nodes")
    assert not prometheus.firing()

    muster.kill_now(agents["b"].pid)
    eventually(lambda: "MusterNodeLost" in prometheus.firing(), 40, "the alert fires")
    cluster.start_agent("b-again", ["--node_id", "b"], command)
    cluster.wait_until_running(2)
    eventually(lambda: "MusterNodeLost" not in prometheus.firing(), 30, "the alert resolves")

    def queries_without_data():
        return [(title, query) for title, query in dashboard_queries()
                if not any(math.isfinite(value) for value in prometheus.values(query))]
    eventually(lambda: not queries_without_data(), 20, "every query of the dashboard returns data")
