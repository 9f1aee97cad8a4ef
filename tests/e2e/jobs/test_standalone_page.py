"""The jobs of --standalone and --with_scheduler can be seen: the agent prints the page's address with a token, and ms-ctl
finds the scheduler without a port."""

import os
import pathlib
import pty
import re
import subprocess

import pytest

import muster
from http_client import ask
from muster import BIN, WITH_TLS, eventually, free_port

pytestmark = pytest.mark.skipif(WITH_TLS, reason="asks in plain text")

# All of root's schedulers have their sockets in one folder, and other tests run beside these. So run as another user,
# whose sockets are in the test's own XDG_RUNTIME_DIR.
AS_USER = ["unshare", "--user", "--map-user=65534"] if os.geteuid() == 0 else []
PAGE = r"the page of this job: http://127\.0\.0\.1:(\d+)/; its token: `cat (\S+)`"
UNTIL_GO = ["sh", "-c", "echo hello; while [ ! -e go ]; do sleep 0.1; done"]


def start(cluster, name, *words):
    return cluster.start(name, [*AS_USER, BIN / "ms-worker", "--standalone", "--job_id", name, *words, "--", *UNTIL_GO])


def ms_ctl(cluster, *words, code=0, stdin=subprocess.DEVNULL):
    """Runs it as someone who has named no scheduler."""
    done = subprocess.run([*AS_USER, BIN / "ms-ctl", *words], env=cluster.env, cwd=cluster.folder, text=True, stdin=stdin,
                          capture_output=True, timeout=30)
    assert done.returncode == code, done
    return done.stdout + done.stderr


def let_go(cluster, *agents):
    (cluster.folder / "go").touch()
    for agent in agents:
        agent.expect(0)


def test_the_page_opens_with_the_printed_address_only(cluster):
    from browser import Browser
    agent = start(cluster, "train")
    port, path = agent.expect_said(PAGE).groups()
    assert os.stat(path).st_mode & 0o777 == 0o600, "others may read the log"
    token = pathlib.Path(path).read_text()
    assert len(token) == 32 and token not in agent.output()
    assert ask(int(port), "/api/v1/jobs")[0] == 401, "other users of the machine can reach the port"
    assert ask(int(port), "/api/v1/jobs", {"Authorization": "Bearer " + token})[0] == 200
    browser = Browser()
    try:
        browser.open(int(port), "#token=" + token)
        browser.see("train")
        assert token not in browser.run("return location.href"), "it can't be read over a shoulder"
        browser.run("location.reload()")
        browser.see("train")
        browser.driver.delete_all_cookies()
        browser.open(int(port), "#token=" + "0" * 32)
        browser.see("The token is wrong")
        assert not [error for error in browser.errors() if "401" not in error]
    finally:
        browser.close()
    let_go(cluster, agent)


def test_on_a_terminal_the_address_has_the_token(cluster):
    ours, theirs = pty.openpty()
    agent = subprocess.Popen([*AS_USER, BIN / "ms-worker", "--standalone", "--", *UNTIL_GO], env=cluster.env,
                             cwd=cluster.folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    read = b""
    while b"hello" not in read:
        read += os.read(ours, 4096)
    port, token = re.search(rb"the page of this job: http://127\.0\.0\.1:(\d+)/#token=([0-9a-f]{32})", read).groups()
    assert ask(int(port), "/api/v1/jobs", {"Authorization": "Bearer " + token.decode()})[0] == 200
    (cluster.folder / "go").touch()
    while agent.poll() is None:
        try:
            os.read(ours, 4096)
        except OSError:  # nobody writes any more
            break
    assert agent.wait(20) == 0
    os.close(ours)


def test_it_can_be_switched_off(cluster):
    agents = [start(cluster, "off", "--http_address", "off")]
    agents.append(cluster.start("variable", [*AS_USER, BIN / "ms-worker", "--standalone", "--", *UNTIL_GO],
                                env={"MS_HTTP_ADDRESS": "off"}))
    let_go(cluster, *agents)
    assert all("page" not in agent.output() for agent in agents)


def test_with_scheduler_has_a_page_where_the_scheduler_runs(cluster):
    port = free_port()
    words = ["--sched_host", "127.0.0.1:%d" % port, "--worker_num", 2, "--with_scheduler"]
    agents = [cluster.start("n%d" % i, [*AS_USER, BIN / "ms-worker", *words, "--node_id", "n%d" % i, "--", *UNTIL_GO])
              for i in range(2)]
    eventually(lambda: any(re.search(PAGE, agent.output()) for agent in agents), 10, "one prints the address")
    let_go(cluster, *agents)
    assert sum("the page of this job" in agent.output() for agent in agents) == 1


def test_ms_ctl_finds_the_only_scheduler(cluster):
    agent = start(cluster, "train")
    agent.expect_said("hello")
    assert "job train, run 1: running" in ms_ctl(cluster, "status")
    assert "hello" in ms_ctl(cluster, "logs", "0"), "without TLS, over the admin socket"
    assert "rank 0 on " in ms_ctl(cluster, "stacks", "0")
    assert "is being stopped" in ms_ctl(cluster, "stop", "train")
    agent.expect(muster.EXIT_STOPPED)
    assert "no scheduler answers" in ms_ctl(cluster, "status", code=10)


def test_of_several_schedulers_ms_ctl_asks_which(cluster):
    agents = {name: start(cluster, name) for name in ("one", "two")}
    for agent in agents.values():
        agent.expect_said("hello")
    said = ms_ctl(cluster, "status", code=1)
    assert "2 schedulers of this user run on this machine: choose one with --sched_port" in said, said
    ports = dict((job, int(port)) for port, job in re.findall(r"port (\d+): job (\w+), run 1: running", said))
    assert set(ports) == {"one", "two"}, said
    assert "job two" not in ms_ctl(cluster, "status", "--sched_port", str(ports["one"]))
    assert "job two, run 1" in ms_ctl(cluster, "why", "two"), "the job's name chooses"
    ours, theirs = pty.openpty()
    asked = subprocess.Popen([*AS_USER, BIN / "ms-ctl", "status"], env=cluster.env, stdin=theirs, stdout=subprocess.PIPE,
                             stderr=theirs, text=True)
    os.close(theirs)
    read = b""
    while b"Which scheduler? [1-2] " not in read:
        read += os.read(ours, 4096)
    second = re.search(rb"  2  port \d+: job (\w+)", read).group(1).decode()
    os.write(ours, b"2\n")
    assert "job %s, run 1: running" % second in asked.communicate(timeout=20)[0]
    os.close(ours)
    let_go(cluster, *agents.values())


def test_a_socket_that_was_left_behind_is_no_scheduler(cluster):
    agent = start(cluster, "killed")
    agent.expect_said("hello")
    port = re.search(r"scheduler \S+:(\d+), version", ms_ctl(cluster, "status")).group(1)
    for process in cluster.descendants():
        if process.name == "ms-scheduler":
            muster.kill_now(process.pid)
    agent.wait(30)
    other = start(cluster, "train")
    other.expect_said("hello")
    assert "job train" in ms_ctl(cluster, "status")
    assert port not in ms_ctl(cluster, "status")
    let_go(cluster, other)
