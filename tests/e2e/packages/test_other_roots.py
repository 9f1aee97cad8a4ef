"""The wheel's programs in other root file systems: one that has only busybox, and those of the Debian releases before
this one (an older C library, Python 3.9) and after it (Python 3.13)."""

import os
import pathlib
import shutil
import subprocess
import zipfile

import layers
import pytest

from muster import SCRIPTS

pytestmark = pytest.mark.xdist_group("package")

IS_LONG = os.environ.get("MUSTER_LONG") == "1"
PROGRAMS = ("ms-scheduler", "ms-worker", "ms-ctl", "ms-ring")

# Two agents over mutual TLS find their scheduler by a name; it is killed and comes back from its journal; a rank is
# killed, and both start again.
MATRIX = """
for program in ms-scheduler ms-worker ms-ctl ms-ring; do $program --version; done
echo '127.0.0.1 localhost box' >/etc/hosts
ms-ctl certs init --dir /tls >/dev/null
ms-ctl certs scheduler --dir /tls --host box >/dev/null
ms-ctl certs node --dir /tls --id '*' --name node >/dev/null
mkdir /came
cat >/rank.sh <<'RANK'
echo $$ >"/came/$RANK.$MS_RESTART_COUNT"
while [ "$MS_RESTART_COUNT" = 0 ] || [ ! -e /go ]; do sleep 0.1; done
echo "rank $RANK of $WORLD_SIZE has come again"
RANK
until_there() { n=0; until [ -s "$1" ]; do sleep 0.1; n=$((n + 1)); [ $n -lt 300 ] || { echo "no $1"; exit 1; }; done; }
serve() {
  ms-scheduler --sched_host box --sched_port 8118 --tls_config /tls/scheduler/tls.json --require_tls \\
    --journal_path /journal.db --worker_num 2 --enable_recovery & scheduler=$!
}
serve
agents=
for i in 0 1; do
  ms-worker --sched_host box --sched_port 8118 --tls_config /tls/node/tls.json --worker_num 2 --local_worker_num 1 \\
    -- sh /rank.sh & agents="$agents $!"
done
until_there /came/0.0; until_there /came/1.0
kill -9 $scheduler; wait $scheduler || true
serve
kill -9 "$(cat /came/1.0)"
until_there /came/0.1; until_there /came/1.1
touch /go
for agent in $agents; do wait "$agent"; done
echo all agents ended well
"""
# Looks up names by a search domain, a whole name, and over IPv6, with the host's own lookup modules.
NAMES = """
echo 'hosts: files mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] myhostname dns' >/etc/nsswitch.conf
printf 'nameserver 127.0.0.1\\nsearch cluster.test\\n' >/etc/resolv.conf
echo '127.0.0.1 localhost' >/etc/hosts
python3 /name_server.py /names & until_there /names
for host in box box.cluster.test six nowhere; do
  ms-worker --sched_host $host --sched_port 8119 --with_scheduler --worker_num 1 -- echo "found $host" || echo "not $host"
done
"""
PYTHON = """
python3 --version
python3 -m venv /venv; /venv/bin/pip install -q --no-index /*.whl
/venv/bin/python -m muster run --standalone --local_worker_num 2 -- /venv/bin/python /asks.py everything
"""


@pytest.fixture(scope="module")
def wheel(dist):
    (made,) = dist.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    """The programs, by their path in the root."""
    folder = tmp_path_factory.mktemp("programs")
    inside = zipfile.ZipFile(wheel)
    for name in inside.namelist():
        if name.rsplit("/", 1)[-1] in PROGRAMS and "/scripts/" in name:
            path = folder / name.rsplit("/", 1)[-1]
            path.write_bytes(inside.read(name))
            path.chmod(0o755)
    return {"bin/" + program: folder / program for program in PROGRAMS}


def check(said):
    for program in PROGRAMS:
        assert "%s 0." % program in said
    assert "rank 0 of 2 has come again" in said and "rank 1 of 2 has come again" in said, said
    assert "all agents ended well" in said, said


def test_a_root_with_busybox_only(programs, tmp_path):
    busybox = shutil.which("busybox")
    if busybox is None or subprocess.run(["ldd", busybox], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        pytest.skip("no busybox without libraries (deploy/install-deps.sh --tests)")
    for name in ("bin", "etc", "root", "proc", "dev", "run", "tmp"):
        (tmp_path / name).mkdir()
    shutil.copy(busybox, tmp_path / "bin" / "busybox")
    for name in subprocess.run([busybox, "--list"], text=True, stdout=subprocess.PIPE, check=True).stdout.split():
        if name != "busybox":
            (tmp_path / "bin" / name).symlink_to("busybox")
    check(layers.run_in(tmp_path, programs, MATRIX, own=True))


def debian(suite):
    """A minimal root of that suite with Python, from this machine's mirror; made at the first use."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "muster-tests" / suite
    if not (cache / "is-whole").exists():
        if shutil.which("debootstrap") is None or os.geteuid() != 0:
            pytest.skip("no debootstrap, or no right to call it")
        mirrors = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Codename: bookworm"], text=True,
                                 stdout=subprocess.PIPE).stdout.split()
        shutil.rmtree(cache, ignore_errors=True)
        done = subprocess.run(["debootstrap", "--variant=minbase", "--include=python3-venv,libnss-myhostname,libnss-resolve,libnss-mdns", suite, cache, *mirrors[:1]],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
        if done.returncode != 0:
            pytest.skip("Debian's %s can't be had: %s" % (suite, done.stdout[-200:]))
        (cache / "is-whole").touch()
    return cache


@pytest.mark.skipif(not IS_LONG, reason="MUSTER_LONG=1 runs it")
@pytest.mark.parametrize("suite", ["bullseye", "trixie"])
def test_another_debian(programs, wheel, suite):
    files = {**programs, wheel.name: wheel, "asks.py": SCRIPTS / "asks_the_store.py",
             "name_server.py": SCRIPTS / "name_server.py"}
    said = layers.run_in(debian(suite), files, MATRIX + NAMES + PYTHON, own=True, timeout=300)
    check(said)
    for host in ("box", "box.cluster.test", "six"):
        assert "found %s\n" % host in said, said
    assert "not nowhere" in said, said
    assert "rank 0 has seen everything" in said and "rank 1 has seen everything" in said, said
