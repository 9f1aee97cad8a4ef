"""Standard streams that are closed, full or limited, as a cron job or a careless launcher leaves them."""

import resource
import subprocess

import pytest

from muster import BIN, eventually

# The byte 15 would mean the agent's own SIGTERM.
SPEAKS = ["sh", "-c", "printf '\\017\\n'; printf '\\017\\n' >&2; sleep 0.5"]


def closed(streams, *argv):
    return ["sh", "-c", 'exec "$@" %s' % " ".join("%d>&-" % stream for stream in streams), "sh", *argv]


@pytest.mark.parametrize("streams", [(1,), (2,), (0, 1, 2)], ids=str)
def test_what_processes_print_is_no_signal_where_a_stream_is_closed(cluster, streams):
    """The pipe that carries the agent's own signals got the number of the closed stream."""
    agent = cluster.start("agent", closed(streams, BIN / "ms-worker", "--standalone", "--local_worker_num", 2, "--",
                                          *SPEAKS))
    agent.expect(0)


def test_a_scheduler_lives_without_standard_streams(cluster):
    log = cluster.folder / "scheduler.log"
    cluster.start("scheduler", closed((0, 1, 2), BIN / "ms-scheduler", "--sched_host", "127.0.0.1", "--sched_port", 0,
                                      "--log_file", log, "--once"))
    eventually(lambda: log.exists() and "listening on" in log.read_text(), 20, "it listens")


@pytest.mark.parametrize("words", [["ms-ctl", "--help"], ["ms-worker", "--check_config"], ["ms-scheduler", "--version"],
                                   ["ms-worker", "--standalone", "--print_assignment"]], ids=" ".join)
def test_output_that_is_lost_is_no_success(cluster, words):
    program = cluster.start("program", ["sh", "-c", 'exec "$@" >/dev/full', "sh", BIN / words[0], *words[1:]])
    program.expect(1)
    assert "could be written" in program.output(), program.output()


def test_a_file_that_may_not_grow_ends_no_process(cluster):
    """RLIMIT_FSIZE applies to stderr, a file that is full."""
    stderr = cluster.folder / "stderr"
    stderr.write_bytes(b"x" * 65536)
    limit = "ulimit -f %d" % (65536 // 512)
    agent = cluster.start("agent", ["sh", "-c", limit + '; exec "$@" 2>>%s' % stderr, "sh", BIN / "ms-worker",
                                    "--standalone", "--", "sleep", "0.2"])
    agent.expect(0)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_output_that_a_full_disk_loses_is_reported(cluster):
    """stdout is a file that takes 64 KiB of the 300."""
    if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip("no mount namespace of our own here")
    stderr = cluster.folder / "stderr"
    script = 'mount -t tmpfs -o size=64k none /mnt; "$@" >/mnt/out 2>%s' % stderr
    agent = cluster.start("agent", ["unshare", "-m", "sh", "-c", script, "sh", BIN / "ms-worker", "--standalone",
                                    "--local_worker_num", 2, "--", "seq", 30000])
    agent.expect(0)
    said = stderr.read_text()
    assert "output of the processes is lost" in said and "No space left on device" in said
