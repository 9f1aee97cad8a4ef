"""Debian's package: its contents, and its effects on a system: a fresh layer over this one, in mounts of its own."""

import pwd
import shutil
import subprocess

import layers
import pytest

pytestmark = pytest.mark.xdist_group("package")

@pytest.fixture
def package(dist):
    (made,) = dist.glob("*.deb")
    return made


def test_it_has_what_it_should(package):
    listed = subprocess.run(["dpkg-deb", "-c", package], check=True, text=True, stdout=subprocess.PIPE).stdout
    paths = {line.split()[5] for line in listed.splitlines()}
    for path in ("usr/bin/ms-scheduler", "usr/bin/ms-worker", "usr/bin/ms-ctl", "usr/bin/ms-ring", "usr/bin/ms-exec",
                 "usr/lib/systemd/system/ms-scheduler.service", "usr/lib/systemd/system/ms-worker@.service",
                 "usr/lib/sysusers.d/muster.conf", "usr/lib/tmpfiles.d/muster.conf", "usr/share/man/man1/ms-worker.1.gz",
                 "usr/share/bash-completion/completions/ms-ctl", "usr/lib/muster/python/muster_training.py",
                 "usr/share/doc/muster/examples/README.md", "usr/share/doc/muster/operators-guide.md"):
        assert "./" + path in paths
    assert all(line.split()[1] == "root/root" for line in listed.splitlines())


def test_lintian_finds_no_error(package):
    if shutil.which("lintian") is None:
        pytest.skip("no lintian (deploy/install-deps.sh --tests)")
    done = subprocess.run(["lintian", "--fail-on", "error", package], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def test_it_installs_upgrades_and_is_purged_without_a_trace(package):
    for user in ("muster", "muster-job"):
        with pytest.raises(KeyError):
            pwd.getpwnam(user)  # if this machine has the user, the test would see nothing
    said = layers.run_in("/", {"muster.deb": package}, """
dpkg --no-triggers -i /muster.deb >/dev/null
getent passwd muster muster-job | cut -d: -f1 | sed 's/^/user: /'
stat -c '%n %a %U:%G' /etc/muster /etc/muster/tls /etc/muster/jobs
ms-scheduler --version; ms-ctl --version
unshare --fork --pid --mount-proc ms-worker --standalone --local_worker_num 2 -- sh -c 'echo rank $RANK of $WORLD_SIZE'
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify --man=no ms-scheduler.service ms-worker@job.service && echo verified
    systemd-analyze security --offline=true --threshold=25 ms-scheduler.service >/dev/null && echo secure
fi
install -d /etc/systemd/system/ms-worker@job.service.d
printf '%s\\n' '[Service]' 'User=nobody' > /etc/systemd/system/ms-worker@job.service.d/user.conf
if command -v systemd-analyze >/dev/null; then
    systemd-analyze verify --man=no ms-worker@job.service && echo verified with a user of its own
fi
grep -E '^(State|Runtime)Directory=' /usr/lib/systemd/system/ms-worker@.service
rm -r /etc/systemd/system/ms-worker@job.service.d
install -d -o muster -m 700 /var/lib/muster; echo records > /var/lib/muster/journal
install -d -o muster-job -m 700 /var/lib/muster-job/job/muster; echo lock > /var/lib/muster-job/job/muster/0
echo mine > /etc/muster/scheduler.conf
dpkg --no-triggers -i /muster.deb >/dev/null
cat /var/lib/muster/journal /etc/muster/scheduler.conf
dpkg --no-triggers --remove muster >/dev/null
cat /var/lib/muster/journal | sed 's/^/kept: /'
dpkg --no-triggers --purge muster >/dev/null
getent passwd muster muster-job && exit 1
rm -rf /muster.deb /root/.local
""", shows_what_is_left=True)
    assert "user: muster\nuser: muster-job\n" in said
    assert "/etc/muster 755 root:root\n/etc/muster/tls 750 root:muster\n/etc/muster/jobs 750 root:root\n" in said
    assert "ms-scheduler 0." in said and "ms-ctl 0." in said
    assert "rank 0 of 2" in said and "rank 1 of 2" in said
    if shutil.which("systemd-analyze"):
        assert "verified\nsecure\n" in said and "verified with a user of its own\n" in said
    assert "StateDirectory=muster-job/%i\nRuntimeDirectory=muster-job-%i\n" in said, "jobs with users of their own share none"
    assert "records\nmine\n" in said and "kept: records" in said
    left = [line for line in said.splitlines() if line.startswith("left: ") and "/dpkg/" not in line]
    assert not left, left
