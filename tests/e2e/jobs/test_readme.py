"""Runs the commands of README unchanged, and checks that they print what README shows."""

import re
import subprocess

import pytest

from muster import BIN, ROOT, free_port, kill_now

PYTHON = "/usr/bin/python3"
EXAMPLE = ROOT / "examples" / "pytorch" / "train_ddp.py"
README = (ROOT / "README.md").read_text()


def blocks(language, heading=None):
    """The blocks of code in that language, below that heading or before the first one."""
    parts = re.split(r"^## (.*)$", README, flags=re.MULTILINE)
    text = parts[0] if heading is None else dict(zip(parts[1::2], parts[2::2]))[heading]
    return re.findall(r"^```%s\n(.*?)^```$" % language, text, re.MULTILINE | re.DOTALL)


def shape(lines):
    """The lines without times, durations, numbers, and names of machines and folders."""
    out = []
    for line in lines:
        # README shows lines as on a terminal, and the test's programs write to files.
        line = re.sub(r"^\S+ (INFO|WARNING|ERROR) (ms-\w+: )", lambda found: found.group(2) + (
            "" if found.group(1) == "INFO" else found.group(1).lower() + ": "), line.strip())
        line = re.sub(r"; its token: `.*|#token=.*", "", line)  # a terminal shows the token
        line = re.sub(r"^(\S+ )?(?=ms-\w+: )|^\S+ \S+  (?=default/)", "", line)
        line = re.sub(r"/\S*/|\b(on|node) \S+", "", line)
        out.append(re.sub(r"\d+", "N", re.sub(r"[\d.]+ m?s\b", "N s", line)).strip())
    return out


def expect_shown(block, program):
    """Fails unless the program has printed each line of the block. A … stands for a part that was left out."""
    said = shape(program.lines())
    for line in block.splitlines():
        parts = [re.escape(part) for part in shape([line])[0].split("…")]
        assert any(re.fullmatch(".*".join(parts), found) for found in said), (
            "not printed: %s\n%s" % (line, program.output()))


def tour(cluster, number, script, **env):
    """Runs the commands of the tour's number-th transcript in a folder with that train.py; what README shows of it."""
    folder = cluster.folder / "tour"
    folder.mkdir()
    (folder / "train.py").write_text(script)
    lines = blocks("console", "Tour")[number].splitlines(keepends=True)
    commands = "".join(line[2:] for line in lines if line.startswith("$ ")).replace("python3 ", PYTHON + " ")
    shown = "".join(line for line in lines if not line.startswith("$ "))
    return cluster.start("tour", ["sh", "-c", commands], cwd=folder, env=env), shown


def test_the_tour_from_an_empty_folder(cluster):
    run, shown = tour(cluster, 0, blocks("python", "Tour")[0])
    run.expect(0, timeout=120)
    expect_shown(shown, run)


def test_the_tours_failure_and_its_cause(cluster):
    script = blocks("python", "Tour")[0].replace("range(1, 21)", "range(1, 1 / 0)")
    run, shown = tour(cluster, 1, script, MS_SCHED_PORT=free_port(), MS_HTTP_ADDRESS="off")
    run.expect(0, timeout=120)  # the code of `ms-ctl why`
    expect_shown(shown, run)
    logs = cluster.folder / "tour" / "logs"
    assert (logs / "worker_0.log").read_text().count("ZeroDivisionError") == 1
    assert (logs / "failure.json").exists()


def test_the_first_two_lines_do_the_same(cluster):
    before, now = [line.split("  #")[0].split() for line in blocks("sh")[0].splitlines()]
    done = subprocess.run([BIN / "ms-ctl", "convert", *before], env=cluster.env, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stdout.split() == now, done.stderr


@pytest.fixture
def hosts(cluster, network):
    """Starts a command line on node1, node2 or node3, which know each other by name."""
    machines = dict(zip(("node1", "node2", "node3"), network.star(3)))
    names = "".join("%s %s\n" % (machine.address, name) for name, machine in machines.items())
    for machine in machines.values():
        machine.set_hosts("127.0.0.1 localhost\n" + names)

    def start(host, line, name=None):
        line = line.replace("python3 ", PYTHON + " ").replace("train_ddp.py", str(EXAMPLE))
        return cluster.start(name or host, ["unshare", "--uts", "sh", "-c", "hostname %s && exec %s" % (host, line)],
                             netns=machines[host].name, env={"OMP_NUM_THREADS": "1"})
    return start


@pytest.mark.xdist_group("port 8118")  # the machines share the folder of the admin socket
def test_a_node_is_killed_and_a_spare_takes_over(hosts):
    """The first screen."""
    (shown,) = blocks("console")
    line, events = re.findall(r"^node1\$ (.*)$", shown, re.MULTILINE)
    from_agent, from_events = re.split(r"^node1\$ .*\n", shown, flags=re.MULTILINE)[1:]
    hosts("node1", "ms-scheduler --sched_host node1", "scheduler").expect_said("listening")
    first, second = hosts("node1", line), hosts("node2", line)
    first.expect_said("epoch 1: loss", timeout=60)
    hosts("node3", line.replace(" -- ", " --spare -- ")).expect_said("a spare")
    first.expect_said("epoch 2: loss", timeout=60)
    kill_now(second.pid)
    first.expect(0, timeout=120)
    expect_shown(from_agent, first)
    asked = hosts("node1", events, "events")
    asked.expect(0)
    expect_shown(from_events, asked)


def cluster_of(title):
    """The command that README shows for a kind of cluster, and what it prints."""
    (block,) = blocks("sh", "Pick your cluster")
    (part,) = [part for part in block.split("\n\n") if part.startswith("# " + title)]
    lines = part.splitlines()
    return lines[1], "\n".join(line[1:].strip() for line in lines[2:])


def test_the_line_for_a_laptop(cluster):
    line, shown = cluster_of("Laptop")
    (cluster.folder / "train.py").write_text("")
    run = cluster.start("laptop", ["sh", "-c", line])
    run.expect(0)
    expect_shown(shown, run)


@pytest.mark.xdist_group("port 8118")  # the machines share the folder of the admin socket
def test_the_line_for_nodes_by_hand(cluster, hosts):
    line, shown = cluster_of("Nodes by hand")
    (cluster.folder / "train.py").write_text("")
    first = hosts("node1", line)
    first.expect_said("joined job")
    second = hosts("node2", line)
    for node in (first, second):
        node.expect(0, timeout=60)
    expect_shown(shown, second)
