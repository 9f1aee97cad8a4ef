"""A storm of honest joins over mutual TLS, with a scheduler that has a third of a processor: nobody is turned away."""

import os
import pathlib
import re
import subprocess

import pytest

import muster
import pki
from muster import BIN, WITH_TLS

COUNT = 2500
QUOTA = pathlib.Path("/sys/fs/cgroup/cpu")


@pytest.fixture
def third_of_a_core():
    """The folder of a control group (version 1) with 0.3 processors."""
    group = QUOTA / ("muster-%d" % os.getpid())
    try:
        group.mkdir()
        (group / "cpu.cfs_quota_us").write_text("30000")
    except OSError as error:
        pytest.skip("no control group to hold the scheduler in: %s" % error)
    yield group
    for pid in (group / "tasks").read_text().split():
        try:
            (QUOTA / "tasks").write_text(pid)
        except OSError:
            pass
    group.rmdir()


@pytest.mark.skipif(WITH_TLS, reason="it makes certificates of its own")
def test_2500_joins_over_tls_with_a_third_of_a_core(cluster, third_of_a_core, record_property):
    if not (BIN / "tls_storm").exists():
        pytest.skip("tls_storm is not built")
    authority = pki.Authority()
    folder = pki.Folder(cluster.folder / "tls", authority, authority.scheduler(), authority.host())

    def limits():
        (third_of_a_core / "tasks").write_text(str(os.getpid()))
    scheduler = cluster.start_scheduler("--tls_config", folder.config, "--journal_path", "memory", limits=limits)
    storm = subprocess.run([BIN / "tls_storm", folder.config, str(scheduler.port), str(COUNT), "500"], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=540 * muster.SLOWNESS)
    print(storm.stdout, storm.stderr)
    record_property("storm", storm.stdout.strip())
    assert re.search(r"joined %d failed 0 " % COUNT, storm.stdout), storm.stdout + storm.stderr + scheduler.tail()
