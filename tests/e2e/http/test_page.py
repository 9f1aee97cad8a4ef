"""The page, as Chromium shows it."""

import http.client
import json
import os
import signal
import sys
import time

import pytest

import axe
import http_client
import muster
from http_client import ask, port_of
from muster import SLOWNESS, WITH_TLS, eventually

pytestmark = [pytest.mark.skipif(WITH_TLS, reason="asks in plain text"), pytest.mark.xdist_group("browser")]

TOKEN = "t" * 40
MARK = {"X-Muster-Action": "1"}


@pytest.fixture
def browser():
    """A browser for each test: a cluster ends with all processes that this one has started."""
    from browser import Browser
    made = Browser()
    yield made
    made.close()


def token_file(folder):
    file = folder / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    return ["--http_token_file", file]


def post(port, path, body, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10 * SLOWNESS)
    try:
        connection.request("POST", path, body=body if isinstance(body, str) else json.dumps(body), headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def log_in(port, **headers):
    status, answer, text = post(port, "/login", {"token": TOKEN}, {**MARK, **headers})
    assert status == 200, text
    return answer["Set-Cookie"].split(";")[0]


def give_token(browser, token=TOKEN):
    browser.see("Log in", timeout=15)
    browser.type("input[name=token]", token)
    browser.click("button[type=submit]")


def test_a_job_forms_fails_and_is_found(cluster, browser):
    """The job forms and a rank is killed. The page shows that within a second, without a reload."""
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0"))
    browser.open(port)
    browser.see("This scheduler has no job yet")
    cluster.start_agent("a", ["--node_id", "a", "--worker_num", 4, "--local_worker_num", 2], ["sleep", "1000"])
    browser.see("forming")
    browser.click("td.name a")
    browser.see("2 of 4 workers here, 2 missing")
    cluster.start_agent("b", ["--node_id", "b", "--worker_num", 4, "--local_worker_num", 2], ["sleep", "1000"])
    ranks = cluster.wait_until_running(4)
    browser.see("4 processes on 2 nodes run")
    browser.see("2 nodes, 4 places for ranks")
    other = cluster.start_agent("other", ["--job_id", "other", "--worker_num", 1], ["sleep", "1000"])

    browser.type("input[type=search]", "rank 3")
    browser.see("rank 3 on", selector=".found")
    browser.click(".found a")
    browser.see("Rank 3")
    browser.see("Local rank")
    assert browser.run("return location.hash") == "#/job/default/rank/3"
    browser.driver.back()
    browser.see("Nodes and ranks")
    browser.open(port, "#/job/default/node/b")
    browser.see("Node b")
    browser.see("Last heard")
    browser.open(port, "#/")
    browser.see("other")
    browser.open(port, "#/job/default")
    browser.see("4 processes on 2 nodes run")
    assert not browser.run("return [...document.querySelectorAll('.actions button')].some((b) => !b.disabled)")
    browser.see("--http_token_file")

    begun = muster.kill_now(ranks[2]["pid"])
    browser.see("was killed by SIGKILL", timeout=1)
    assert time.monotonic() - begun < 1 * SLOWNESS + 0.2
    browser.see("Why it failed")
    browser.see("failed")
    other.send(signal.SIGTERM)
    assert not browser.errors()


def test_login_actions_and_reconnecting(cluster, browser, tmp_path):
    words = ["--http_address", "127.0.0.1:0", *token_file(tmp_path), "--journal_path", str(tmp_path / "journal")]
    scheduler = cluster.start_scheduler(*words)
    port = port_of(scheduler)
    browser.open(port)
    browser.see("Log in")
    browser.type("input[name=token]", "wrong")
    browser.click("button[type=submit]")
    browser.see("The token is wrong.")
    browser.errors()  # Chromium logs each 401
    browser.type("input[name=token]", TOKEN)
    browser.click("button[type=submit]")
    browser.see("This scheduler has no job yet")
    cookie = browser.driver.get_cookies()[0]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and TOKEN not in cookie["value"]

    for name in ("a", "b"):
        cluster.start_agent(name, ["--node_id", name, "--worker_num", 2, "--enable_recovery", "--rejoin_timeout", 60], ["sleep", "1000"])
    cluster.wait_until_running(2)
    browser.open(port, "#/job/default/node/b")
    browser.see("Drain …")
    browser.click(".actions button")
    browser.type("dialog input", "disk is dying")
    browser.click("dialog button[type=submit]")
    browser.see("disk is dying", selector="main")
    browser.see("Keep …")
    assert "disk is dying" in json.dumps(cluster.ctl_json("events"))
    browser.open(port, "#/job/default")
    browser.see("To look at")

    sched_port = scheduler.port
    scheduler.send(signal.SIGKILL)
    scheduler.wait(10)
    browser.see("has been out of reach since", timeout=10, selector="#outage")
    browser.see("Disconnected", selector="#connection")
    words[1] = "127.0.0.1:%d" % port
    again = cluster.start_scheduler(*words, port=sched_port, name="again")
    browser.see("Log in", timeout=15)  # sessions are lost with the process
    browser.errors()
    browser.type("input[name=token]", TOKEN)
    browser.click("button[type=submit]")
    browser.see("Live", timeout=15, selector="#connection")
    cluster.wait_until_running(2)
    browser.see("2 processes on 2 nodes run", timeout=15)
    browser.click(".actions button:last-child")
    browser.type("dialog input", "enough")
    browser.click("dialog button[type=submit]")
    browser.see("enough")
    eventually(lambda: cluster.phase() == "stopped", 15, "it is stopped")
    browser.click("#logout")
    browser.see("Log in")
    assert not [error for error in browser.errors() if "401" not in error and "ERR_CONNECTION_REFUSED" not in error]
    again.send(signal.SIGTERM)


def test_where_processes_stand_and_what_they_wrote(cluster, browser, tmp_path):
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", *token_file(tmp_path)))
    (tmp_path / "train.py").write_text("import os, sys, time\nsys.path.insert(0, %r)\nimport muster_training\n"
                                       "muster_training.enable_stacks()\n\ndef all_reduce():\n    time.sleep(1000)\n\n"
                                       "print('rank', os.environ['RANK'], 'waits', flush=True)\nall_reduce()\n" % str(muster.ROOT / "python"))
    cluster.start_agent("a", ["--node_id", "a", "--worker_num", 2, "--local_worker_num", 2],
                        [sys.executable, tmp_path / "train.py"])
    cluster.wait_until_running(2)
    browser.open(port, "#/job/default/rank/1")
    give_token(browser)
    browser.see("Show what it wrote last")
    browser.click(".processes button:nth-of-type(2)")
    browser.see("rank 1 waits", timeout=15)
    browser.click(".processes button:nth-of-type(1)")
    browser.see("all_reduce", timeout=15)
    browser.open(port, "#/job/default")
    browser.see("Stacks")
    browser.click(".actions a")
    browser.see("Show where they stand")
    browser.click(".processes button")
    browser.see("Rank 0", timeout=15)
    browser.see("Rank 1")
    status, _, text = post(port, "/api/v1/jobs/default/logs", {"rank": 0}, MARK)
    assert status == 401, text  # the output of a process is for its owner only
    assert not [error for error in browser.errors() if "401" not in error]


def test_earlier_runs_are_found(cluster, browser, tmp_path):
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", *token_file(tmp_path)))
    for run, script in enumerate(("echo out of luck; exit 3", "exit 0"), 1):
        agent = cluster.start_agent("run-%d" % run, ["--worker_num", 1], ["sh", "-c", script])
        agent.wait(20)
    browser.open(port, "#/job/default")
    give_token(browser)
    browser.see("Succeeded")
    browser.see("Other runs")
    browser.click("section[aria-label='Other runs'] a")
    browser.see("default, run 1")
    browser.see("out of luck")
    browser.see("Run 2, the latest")
    browser.driver.back()
    browser.see("Succeeded")
    browser.open(port, "#/job/default/run/7")
    browser.see("This scheduler has no such run")
    browser.open(port, "#/")  # a page that is open for long drops the oldest events
    browser.driver.execute_async_script("const done = arguments[0]; import('/live.js').then(({live}) => {"
                                        "live.events.splice(0, live.events.length - 1); live.hasDropped = true; done(); });")
    browser.open(port, "#/job/default")
    browser.see("Run 1")
    assert not [error for error in browser.errors() if "401" not in error and "404" not in error]


def test_axe_finds_nothing(cluster, browser, tmp_path):
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", *token_file(tmp_path)))
    for name in ("a", "b", "c"):
        cluster.start_agent(name, ["--node_id", name, "--worker_num", 4, "--local_worker_num", 2, "--enable_recovery",
                                   *(["--spare"] if name == "c" else [])],
                            ["sh", "-c", "echo $RANK > $MS_PROGRESS_FILE; [ $RANK$MS_RESTART_COUNT = 30 ] && exit 3; exec sleep 1000"])
    eventually(lambda: cluster.ctl_json("status")["runs"] and cluster.ctl_json("status")["runs"][0]["round"] == 2, 20, "it goes on")
    cluster.start_agent("d", ["--node_id", "d", "--job_id", "other", "--worker_num", 2], ["sleep", "1000"])  # needs one more node
    browser.open(port)
    browser.see("Log in")
    found = [("log in", line) for line in axe.findings(browser)]
    browser.type("input[name=token]", TOKEN)
    browser.click("button[type=submit]")
    places = {"#/": "other", "#/job/default": "Timeline", "#/job/other": "missing", "#/job/default/node/a": "Last heard",
              "#/job/default/rank/3": "Show what it wrote", "#/job/default/stacks": "Show where"}
    for theme in ("light", "dark"):
        browser.run("if (document.documentElement.dataset.theme !== arguments[0]) document.querySelector('#theme').click()", theme)
        for place, words in places.items():
            browser.open(port, place)
            browser.see(words)
            found += [(theme + " " + place, line) for line in axe.findings(browser)]
    browser.open(port, "#/job/default")
    browser.see("Restart …")
    browser.click(".actions button")
    found += [("dialog", line) for line in axe.findings(browser)]
    assert not found, "\n".join("%s: %s" % one for one in found)
    browser.run("document.querySelector('dialog form').prepend(document.createElement('input'))")
    assert axe.findings(browser), "it looks"


def test_what_another_site_can_send_changes_nothing(cluster, tmp_path):
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", *token_file(tmp_path)))
    status, headers, text = ask(port, "/")
    assert status == 200 and "script-src 'self'" in headers["Content-Security-Policy"], headers
    assert ask(port, "/", {"If-None-Match": headers["ETag"]})[0] == 304
    assert ask(port, "/assets/../main.js")[0] == 400 and ask(port, "/api/v1/jobs")[0] == 401
    assert json.loads(ask(port, "/api/v1/session")[2])["may_view"] is False
    cluster.start_agent("a", ["--worker_num", 1], ["sleep", "1000"])
    cluster.wait_until_running(1)

    own = {"Origin": "http://127.0.0.1:%d" % port}
    cookie = {"Cookie": log_in(port, **own)}
    assert ask(port, "/api/v1/jobs", cookie)[0] == 200
    stop, why = "/api/v1/jobs/default/stop", {"reason": "tried"}
    refused = {
        "no identity": ({**MARK, **own}, 401),
        "no mark": ({**cookie, **own}, 403),
        "another site": ({**MARK, **cookie, "Origin": "http://evil.example"}, 403),
        "a cookie alone": ({**MARK, **cookie}, 403),
        "another site, as the browser says": ({**MARK, **cookie, **own, "Sec-Fetch-Site": "cross-site"}, 403),
        "a guessed cookie": ({**MARK, **own, "Cookie": "muster-%d=%s" % (port, "0" * 64)}, 401),
        "a wrong token": ({**MARK, "Authorization": "Bearer " + "u" * 40}, 401),
    }
    wrong = {name: post(port, stop, why, headers)[0] for name, (headers, status) in refused.items()
             if post(port, stop, why, headers)[0] != status}
    assert not wrong, wrong
    assert post(port, "/login", {"token": TOKEN}, own)[0] == 403, "a login that another site makes"
    assert post(port, stop, {}, {**MARK, **cookie, **own})[0] == 400, "no reason"
    assert post(port, stop, "x" * 5000, {**MARK, **cookie, **own})[0] == 413
    assert ask(port, stop, cookie)[0] == 404 and cluster.phase() == "running"
    assert post(port, "/api/v1/jobs/none/stop", why, {**MARK, **cookie, **own})[0] == 404
    assert post(port, stop, why, {**MARK, **cookie, **own})[0] == 200
    eventually(lambda: cluster.phase() == "stopped", 10, "the job is stopped")
    assert "stopped by 127.0.0.1: tried" in json.dumps(cluster.ctl_json("status"))
    eventually(lambda: post(port, stop, why, {**MARK, "Authorization": "Bearer " + TOKEN})[0] == 409, 5, "it has ended")
    post(port, "/logout", {}, {**MARK, **cookie, **own})
    assert ask(port, "/api/v1/jobs", cookie)[0] == 401
    answers = [post(port, "/login", {"token": "wrong"}, {**MARK, **own})[0] for _ in range(8)]
    assert answers[0] == 401 and answers[-1] == 429, answers


def test_without_an_identity_nothing_is_changed(cluster):
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0"))
    cluster.start_agent("a", ["--worker_num", 1], ["sleep", "1000"])
    cluster.wait_until_running(1)
    status, _, text = post(port, "/api/v1/jobs/default/stop", {"reason": "x"}, MARK)
    assert status == 403 and "--http_token_file" in text, text
    assert cluster.phase() == "running"


@pytest.mark.skipif(WITH_TLS, reason="makes certificates of its own")
def test_with_tls_an_admin_acts_and_a_node_does_not(secured, cluster):
    port = port_of(secured.start_scheduler("--http_address", "127.0.0.1:0"))
    secured.start_node("a", ["sleep", "1000"], "--worker_num", 1)
    secured.wait_until_running(1)

    def stop(folder):
        context = http_client.tls_context(secured.folders[folder])
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10 * SLOWNESS, context=context)
        connection.request("POST", "/api/v1/jobs/default/stop", body='{"reason": "test"}', headers=MARK)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    status, text = stop("a")
    assert status == 403 and "admin" in text, text
    assert stop("scheduler")[0] == 200


def test_a_viewer_sees_all_and_has_no_buttons(cluster, browser, tmp_path):
    look = tmp_path / "look"
    look.write_text("v" * 40)
    look.chmod(0o600)
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", *token_file(tmp_path), "--http_view_token_file", look))
    cluster.start_agent("a", ["--node_id", "a", "--worker_num", 1, "--enable_recovery"],
                        ["sh", "-c", "[ $MS_RESTART_COUNT = 1 ] && exec sleep 1000; echo my last line; exit 3"])
    eventually(lambda: cluster.ctl_json("status")["runs"] and cluster.ctl_json("status")["runs"][0]["round"] == 2, 20, "it goes on")
    browser.open(port, "#/job/default")
    give_token(browser, "v" * 40)
    browser.see("my last line")
    browser.see("1 process on 1 node runs")
    eventually(lambda: not browser.run("return document.querySelectorAll('.actions button').length"), 5, "no buttons")
    browser.open(port, "#/job/default/node/a")
    browser.see("Last heard")
    assert "Drain" not in browser.text() and not browser.run("return document.querySelector('#logout').hidden")
    bearer = {**MARK, "Authorization": "Bearer " + "v" * 40}
    status, _, text = post(port, "/api/v1/jobs/default/stop", {"reason": "x"}, bearer)
    assert status == 403 and "--http_token_file" in text, text
    assert ask(port, "/metrics", bearer)[0] == 200 and cluster.phase() == "running"
    assert not [error for error in browser.errors() if "401" not in error]
