"""Commands that can't be started: each gets the right reason for programs and the right remedy for people."""

import json
import os
import sys

import pytest

from muster import BIN


def run(cluster, *words, code, env=None, before=()):
    agent = cluster.start("agent%d" % len(cluster.programs), [*before, BIN / "ms-worker", *map(str, words)],
                          env={**cluster.env, **(env or {})})
    agent.expect(code)
    return agent.output()


def failure(folder):
    return json.loads((folder / "failure.json").read_text())


def test_a_full_folder_is_no_question_of_an_executable_program(cluster):
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system")
    logs = cluster.folder / "logs"
    small = cluster.folder / "small"
    small.mkdir()
    fill = ("mount -t tmpfs -o size=64k tmpfs %s && dd if=/dev/zero of=%s/fill bs=1k count=80 2>/dev/null; exec \"$@\"" %
            (small, small))
    out = run(cluster, "--standalone", "--log_dir", logs, "--", "true", code=126, env={"TMPDIR": str(small)},
              before=["unshare", "-m", "bash", "-c", fill, "bash"])
    assert "No space left on device" in out and "df -h" in out and "set TMPDIR" in out, out
    assert "executable" not in out, out
    assert failure(logs)["reason"] == "disk_full"


def test_a_program_for_another_processor(cluster):
    program = bytearray(open("/bin/true", "rb").read())
    program[18:20] = (0x7777).to_bytes(2, "little")  # an instruction set that no machine has
    foreign = cluster.folder / "foreign"
    foreign.write_bytes(program)
    script = cluster.folder / "by-foreign"
    script.write_text("#!%s\n" % foreign)
    for path in (foreign, script):
        path.chmod(0o755)
        logs = cluster.folder / ("logs-" + path.name)
        out = run(cluster, "--standalone", "--log_dir", logs, "--", path, code=126)
        assert "Exec format error" in out and "processor number 30583" in out and os.uname().machine in out, out
        assert "Syntax error" not in out, out
        assert failure(logs)["reason"] == "exec_format_error"
    plain = cluster.folder / "a plain script"
    plain.write_text("echo still a script\n")
    plain.chmod(0o755)
    assert "still a script" in run(cluster, "--standalone", "--", plain, code=0)


def test_a_command_in_quotes_is_refused_with_the_right_form(cluster):
    (cluster.folder / "train.py").write_text("pass\n")
    for words in (["python3 train.py --lr 1"], ["/usr/bin/python3 train.py --lr 1"], ["python3 train.py", "--lr", "1"]):
        out = run(cluster, "--standalone", "--", *words, code=127)
        assert "one word with spaces" in out and out.rstrip().endswith("python3 train.py --lr 1"), out
        assert len(out.splitlines()) == 1, out
    out = run(cluster, "--standalone", "--", "cd {rank} && true", code=127)
    assert "-- sh -c 'cd 0 && true'" in out, out


def test_the_limit_on_addresses_is_named(cluster):
    out = run(cluster, "--standalone", "--local_worker_num", 2, "--", "true", code=2,
              before=["bash", "-c", "ulimit -v 400000; exec \"$@\"", "bash"])
    assert "RLIMIT_AS (ulimit -v) is 390 MiB" in out and "RLIMIT_NPROC" not in out, out


def test_paths_hold_where_the_script_changes_its_folder(cluster):
    (cluster.folder / "tmp").mkdir()
    script = cluster.folder / "where.py"
    script.write_text("import os, sys\n"
                      "os.chdir('/')\n"
                      "for name in ('TORCHELASTIC_ERROR_FILE', 'MS_CLUSTER_FILE', 'MS_PROGRESS_FILE', 'MS_STACKS_FILE'):\n"
                      "    sys.stdout.write('%s=%s\\n' % (name, os.environ[name]))\n"
                      "open(os.environ['MS_CLUSTER_FILE']).close()\n"
                      "open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w').write('{\"message\": \"bad batch\"}')\n"
                      "sys.exit(1)\n")
    home = cluster.folder / "home"
    home.mkdir()
    agent = cluster.start("agent", [BIN / "ms-worker", "--standalone", "--log_dir=~/logs", "--", sys.executable, script],
                          env={**cluster.env, "TMPDIR": "tmp", "HOME": str(home)}, cwd=cluster.folder)
    agent.expect(1)
    log = next((home / "logs").rglob("worker_0.log"))
    for line in log.read_text().splitlines():
        name, _, path = line.partition("=")
        assert path.startswith(str(cluster.folder / "tmp")), line
    assert "bad batch" in agent.output(), agent.output()


def test_auto_without_a_device_says_so(cluster):
    (cluster.folder / "root" / "dev").mkdir(parents=True)
    out = run(cluster, "--standalone", "--local_worker_num", "auto", "--", "true", code=0,
              env={"MUSTER_HOST_ROOT": str(cluster.folder / "root")})
    assert out.count("no Ascend or NVIDIA device") == 1 and "--local_worker_num 8" in out, out


@pytest.mark.parametrize("mount, what", [
    ("mount -t tmpfs -o noexec,mode=755 none /mnt && cp /bin/true /mnt/true", "mounted noexec"),
    ("mount -t tmpfs none /proc", "/proc can't be read"),
    ("ip link set lo down 2>/dev/null", "ip link set lo up")], ids=["noexec", "no_proc", "no_loopback"])
def test_what_a_container_lacks_is_named(cluster, mount, what):
    if os.geteuid() != 0:
        pytest.skip("only root mounts a file system")
    program = "/mnt/true" if "noexec" in what else "true"
    agent = cluster.start("agent", ["unshare", "-m", "-n" if "lo up" in what else "--propagation=private", "bash", "-c",
                                    mount + '; exec "$@"', "bash", BIN / "ms-worker", "--standalone", "--", program])
    agent.expect(126 if "noexec" in what else 2)
    assert what in agent.output(), agent.output()
