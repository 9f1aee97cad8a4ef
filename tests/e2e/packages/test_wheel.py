"""The wheel: programs that need no library, and the module for scripts."""

import hashlib
import json
import re
import subprocess
import sys
import zipfile

import pytest

from muster import BIN, ROOT, free_port

pytestmark = pytest.mark.xdist_group("package")

SHOW = ("import muster, muster_training; c = muster.cluster(); muster.progress(1);"
        "print('I am', c.rank, 'of', c.world_size, 'before', c.local.next.rank, [p.rank for p in c.peers])")


@pytest.fixture(scope="module")
def python(dist, tmp_path_factory):
    """A Python of its own with only the wheel."""
    (wheel,) = dist.glob("*.whl")
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run(["/usr/bin/python3", "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "-q", "--no-index", wheel], check=True)
    return folder / "bin" / "python"


def test_one_install_and_one_line(python, cluster):
    job = cluster.start("job", [python, "-m", "muster", "run", "--standalone", "--local_worker_num", "2", "--",
                                python, "-c", SHOW], env={"PATH": "/usr/bin:/bin"})
    job.expect(0)
    assert "I am 0 of 2 before 1 [0, 1]" in job.output() and "I am 1 of 2 before 0 [0, 1]" in job.output()
    for program in ("ms-worker", "ms-scheduler", "ms-ctl", "ms-ring"):
        path = python.parent / program
        assert subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True).stdout.startswith(program)
        assert subprocess.run(["ldd", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0


def test_names_are_looked_up_without_the_hosts_modules(python, cluster):
    agent = cluster.start("agent", [python.parent / "ms-worker", "--sched_host", "no-such-host.invalid",
                                    "--cluster_retry_num", "1", "--worker_num", "1", "--", "true"])
    agent.expect(10)
    assert '"no-such-host.invalid" can\'t be resolved' in agent.output()
    named = cluster.start("named", [python.parent / "ms-worker", "--sched_host", "localhost", "--with_scheduler",
                                    "--worker_num", "1", "--sched_port", free_port(), "--", "true"])
    named.expect(0)


def test_other_words_and_a_missing_program_are_reported(python):
    done = subprocess.run([python, "-m", "muster", "fly"], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "Usage: python -m muster" in done.stderr
    alone = "import sys, runpy; sys.argv = ['muster', 'ctl']; runpy.run_module('muster', run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", alone], stderr=subprocess.PIPE, text=True, cwd=ROOT / "python",
                          env={"PATH": "/nonexistent", "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 127 and "ms-ctl is neither beside this Python nor in PATH" in done.stderr


def test_it_names_each_library_that_is_linked_into_it(dist):
    (wheel,) = dist.glob("*.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    notices = {name.rsplit("/", 1)[1] for name in inside if "/licenses/" in name}
    assert {"libc6-dev", "libssl-dev", "libgrpc-dev", "libprotobuf-dev", "libsqlite3-dev", "libspdlog-dev"} <= notices


def test_the_bill_of_materials_has_what_is_linked_into_it(dist):
    (wheel,) = dist.glob("*.whl")
    (bill,) = dist.glob("*.cdx.json")
    inside = zipfile.ZipFile(wheel)
    (name,) = [name for name in inside.namelist() if "/sboms/" in name]
    assert inside.read(name) == bill.read_bytes()
    bom = json.loads(bill.read_bytes())
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.5")
    notices = {name.rsplit("/", 1)[1] for name in inside.namelist() if "/licenses/" in name}
    libraries = {one["name"]: one for one in bom["components"] if one["type"] == "library"}
    assert set(libraries) == notices
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libgrpc-dev"], stdout=subprocess.PIPE, text=True)
    assert libraries["libgrpc-dev"]["version"] == version.stdout
    assert libraries["libgrpc-dev"]["purl"].startswith("pkg:deb/debian/libgrpc-dev@")
    for program in (one for one in bom["components"] if one["type"] == "file"):
        (path,) = [name for name in inside.namelist() if name.endswith("/scripts/" + program["name"])]
        assert program["hashes"][0]["content"] == hashlib.sha256(inside.read(path)).hexdigest()


def test_symbols_lie_aside(dist, tmp_path):
    (symbols,) = dist.glob("*-symbols.tar.xz")
    (wheel,) = dist.glob("*.whl")
    subprocess.run(["tar", "-x", "-f", symbols, "-C", tmp_path], check=True)
    inside = zipfile.ZipFile(wheel)
    (path,) = [name for name in inside.namelist() if name.endswith("/scripts/ms-worker")]
    (tmp_path / "ms-worker").write_bytes(inside.read(path))

    def build_id(name):
        notes = subprocess.run(["readelf", "--notes", tmp_path / name], stdout=subprocess.PIPE, text=True, check=True)
        return re.search(r"Build ID: (\w+)", notes.stdout).group(1)

    assert build_id("ms-worker") == build_id("ms-worker.debug")
    names = subprocess.run(["nm", "--demangle", tmp_path / "ms-worker.debug"], stdout=subprocess.PIPE, text=True, check=True)
    assert "muster::agent::StoreCore::Tick" in names.stdout
    assert subprocess.run(["nm", tmp_path / "ms-worker"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True).stdout.endswith("no symbols\n")


def test_the_module_comes_with_the_agent_and_reads_its_file(cluster):
    job = cluster.start("job", [BIN / "ms-worker", "--standalone", "--local_worker_num", "2", "--", "python3", "-c", SHOW])
    job.expect(0)
    assert "I am 1 of 2 before 0 [0, 1]" in job.output()


def test_outside_of_a_job_there_is_no_cluster_and_a_wrong_file_is_reported(tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"schema": "muster.cluster/2"}))
    script = ("import muster\nassert muster.cluster() is None\n"
              "try: muster.cluster(%r)\nexcept ValueError as error: print(error)" % str(wrong))
    done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True,
                          env={"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"})
    assert "is not a cluster file of schema muster.cluster/1" in done.stdout
