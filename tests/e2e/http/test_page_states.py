"""How the page behaves while things change under the user's hands. Answers are invented where real ones take long."""

import pytest

from http_client import port_of
from muster import WITH_TLS, eventually
from test_page import TOKEN, browser, token_file  # noqa: F401 (a fixture)

webdriver = pytest.importorskip("selenium.webdriver", reason="python3-selenium is not installed")

pytestmark = [pytest.mark.skipif(WITH_TLS, reason="asks in plain text"), pytest.mark.xdist_group("browser")]

# window.made: {path without its query: the answer to give instead}, as {status, body}, {merge: members of each run} or
# {never: true}. The 15 s that an action may take are 0.3 s here.
STAND_IN = """
window.made = {};
window.sent = [];
const real = window.fetch;
window.asked = 0;
window.fetch = async (path, options) => {
  window.asked += path === '/api/v1/jobs';
  if (options?.method === 'POST') window.sent.push([path, JSON.parse(options.body)]);
  const made = window.made[path.split('?')[0]];
  if (made === undefined) return real(path, options);
  if (made.never) return new Promise((_, fail) => options.signal.addEventListener('abort', () => fail(new Error('aborted'))));
  if (!made.merge) return new Response(JSON.stringify(made.body), {status: made.status ?? 200});
  const answer = await (await real(path, options)).json();
  for (const run of answer.runs) Object.assign(run, made.merge);
  return new Response(JSON.stringify(answer));
};
const timeout = window.setTimeout;
window.waits = [];
window.setTimeout = (task, ms, ...rest) => { window.waits.push(ms); return timeout(task, ms === 15000 ? 300 : ms, ...rest); };
"""


def made(browser, answers):
    browser.run("window.made = arguments[0]", answers)


def open_page(browser, port, where=""):
    browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": STAND_IN})
    browser.open(port, where)


def log_in(browser):
    browser.see("Log in")
    browser.type("input[name=token]", TOKEN)
    browser.click("button[type=submit]")


@pytest.fixture
def job(cluster, browser, tmp_path):
    """A running job of two nodes, and the page that shows it, logged in."""
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", *token_file(tmp_path)))
    for name in ("a", "b"):
        cluster.start_agent(name, ["--node_id", name, "--worker_num", 2, "--enable_recovery"], ["sleep", "1000"])
    cluster.wait_until_running(2)
    open_page(browser, port, "#/job/default")
    log_in(browser)
    browser.see("2 processes on 2 nodes run")
    eventually(lambda: not browser.run("return document.querySelector('.actions button').disabled"), 10, "it may act")
    return port


def test_nothing_is_lost_while_all_is_made_again(job, cluster, browser):  # noqa: F811
    made(browser, {"/api/v1/jobs": {"merge": {"restart_count": 1}}})
    cause = {"text": "rank 0 failed", "rank": 0, "node_id": "a", "host_name": "h", "last_lines": ["x"], "log_file": "", "remedy": "",
             "reason": "device_fault", "failure_kind": "device"}
    browser.see("Restarts\n1", selector="dl.figures")
    browser.run("document.querySelector('.actions button').focus(); window.old = document.activeElement")
    made(browser, {"/api/v1/jobs": {"merge": {"restart_count": 2, "last_abort": cause}}})
    browser.see("Restarts\n2", selector="dl.figures")
    assert browser.run("return document.activeElement.textContent + (document.activeElement === window.old)") == "Restart …false"
    browser.see("Last restart")
    browser.see("Kind of failure: device (device_fault)")
    # Open details stay open: a newer age alone does not draw them again.
    eventually(lambda: browser.run("const d = document.querySelector('.cause details'); if (d) d.open = true; return !!d"), 10, "why is there")
    browser.run("window.old = document.querySelector('.actions button'); window.why = document.querySelector('.cause details')")
    age = browser.text("[data-text=age]")
    eventually(lambda: browser.text("[data-text=age]") != age, 15, "the age goes on")
    assert browser.run("return window.old.isConnected && window.why.isConnected && window.why.open")
    made(browser, {"/api/v1/jobs": {"merge": {"restart_count": 3, "last_abort": {**cause, "text": "rank 1 failed"}}}})
    browser.see("rank 1 failed")
    assert browser.run("return document.querySelector('.cause details').open && !window.why.isConnected")
    # A button stays in place while it is pressed.
    button = browser.driver.find_element("css selector", ".actions button")
    webdriver.ActionChains(browser.driver).click_and_hold(button).perform()
    made(browser, {"/api/v1/jobs": {"merge": {"restart_count": 4}}})
    asked = browser.run("return window.asked")
    eventually(lambda: browser.run("return window.asked") > asked + 1, 10, "it has heard of the fourth")
    assert "Restarts\n3" in browser.text("dl.figures")
    webdriver.ActionChains(browser.driver).release().perform()
    eventually(lambda: browser.run("return document.querySelector('dialog')?.open"), 5, "the click counts")
    browser.click("dialog .buttons button")
    browser.see("Restarts\n4", selector="dl.figures")
    # The skip link goes to the content, not to another page.
    browser.click(".skip")
    assert browser.run("return [location.hash, document.activeElement.id]") == ["#/job/default", "main"]
    assert not [error for error in browser.errors() if "503" not in error and "401" not in error]


def test_an_action_says_what_it_has_seen_and_what_came_of_it(job, cluster, browser):  # noqa: F811
    made(browser, {"/api/v1/jobs/default/stop": {"never": True}})
    browser.click(".actions button:last-child")
    browser.type("dialog input", "x")
    browser.click("dialog button[type=submit]")
    browser.see("No answer came. The action may have taken effect: look before you try again.", selector="dialog")
    assert 15000 in browser.run("return window.waits")
    browser.click("dialog .buttons button")
    made(browser, {})
    browser.click(".actions button")  # a restart, which another user does first
    browser.type("dialog input", "slow")
    cluster.ctl("restart", "default")
    eventually(lambda: cluster.ctl_json("status")["runs"][0]["round"] == 2, 20, "the second round")
    browser.click("dialog button[type=submit]")
    browser.see("is in round 2 now, no longer in round 1", selector="dialog")
    assert [body["round"] for path, body in browser.run("return window.sent") if path.endswith("/restart")] == [1]
    assert cluster.ctl_json("status")["runs"][0]["round"] == 2


def test_what_it_says_is_true(job, cluster, browser):  # noqa: F811
    ended = {"phase": "succeeded", "outcome": {"ended_unix_ms": 1700000000000, "cause": None},
             "last_abort": {"text": "rank 0 failed", "rank": 0, "node_id": "a", "host_name": "h", "last_lines": [], "log_file": "", "remedy": ""}}
    made(browser, {"/api/v1/jobs": {"merge": ended}})
    browser.see("Last restart")
    assert "Why it failed" not in browser.text()
    # With 700 nodes, the API's page has 500, and the map has all.
    names = [{"node_id": "n%03d" % i, "host_name": "h", "label": "", "role": "worker", "slots": 1, "ranks": [i, 1]} for i in range(700)]
    node = {"state": "connected", "draining": "", "is_spare": False, "note": "", "role": "worker", "ranks": [], "last_seen_ms": 100}
    made(browser, {"/api/v1/jobs/default/map": {"body": {"job_id": "default", "run": 1, "round": 1, "names_version": "1",
                                                         "nodes": "c" * 650 + "l" + "c" * 49, "slots": "r" * 700, "names": names}},
                   "/api/v1/jobs/default/nodes": {"body": {"jobs": [{"total": 700, "nodes": [{**node, "node_id": "n%03d" % i} for i in range(500)]}]}}})
    browser.see("n650", timeout=15)
    browser.see("longest of the first 500 nodes")
    # The map of a job disappears with the job.
    made(browser, {"/api/v1/jobs": {"body": {**cluster.ctl_json("status"), "runs": []}}})
    browser.see("This scheduler has no such job.")
    assert "Nodes and ranks" not in browser.text()
    # The page shows the reason unchanged.
    made(browser, {"/api/v1/jobs": {"status": 503, "body": {"error": "the journal's disk is full"}}})
    browser.see("the journal's disk is full.", selector="#outage")
    browser.see("No answers", selector="#connection")
    assert "can’t be reached" not in browser.text("#outage")
    made(browser, {})
    browser.see("Live", selector="#connection")
    browser.see("Nodes and ranks")


def test_a_locked_page_opens_when_somebody_logs_in_beside_it(job, browser):  # noqa: F811
    made(browser, {"/api/v1/jobs": {"status": 401, "body": "x"}})
    browser.see("Log in")
    assert browser.text("#connection") == "Locked"
    made(browser, {})
    browser.run("window.dispatchEvent(new Event('focus'))")  # the cookie is valid
    browser.see("Nodes and ranks")
    browser.see("Live", selector="#connection")
    assert not browser.run("return document.querySelector('.actions button').disabled")
