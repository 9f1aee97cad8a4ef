"""The manifests: checked against the schemas of Kubernetes, and run in a root like that of a pod.

The root has the static programs and nothing else, is read-only, and has mounts and process ids of its own. The user is
the manifest's. A cluster's network and its kubelet are not simulated."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

from muster import BIN, ROOT, WITH_TLS, Scheduler, eventually

yaml = pytest.importorskip("yaml")
pytestmark = [pytest.mark.xdist_group("package"), pytest.mark.skipif(WITH_TLS, reason="it makes its own certificates")]

MANIFESTS = ROOT / "deploy" / "kubernetes"
EXAMPLES = ROOT / "examples" / "kubernetes"


def documents(name):
    return {document["kind"]: document for document in yaml.safe_load_all((MANIFESTS / name).read_text())}


def pod_of(document):
    return document["spec"]["template"]["spec"]


def test_they_fit_the_published_schemas():
    python = next((python for python in (os.environ.get("MUSTER_PYTHON", sys.executable), sys.executable)
                   if subprocess.run([python, "-c", "import kubernetes_validate, yaml"],
                                     stderr=subprocess.DEVNULL).returncode == 0), None)
    if python is None:
        pytest.skip("no python with kubernetes-validate")
    done = subprocess.run([python, MANIFESTS / "check.py"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and done.stdout.count(" is valid") == 5, done.stdout


OVERLAYS = ("no-tls", "host-network", "rdma", "ascend")


@pytest.mark.parametrize("overlays", [(), *((one,) for one in OVERLAYS), OVERLAYS], ids="+".join)
def test_expanded_manifests_fit_too(tmp_path, overlays):
    validate = pytest.importorskip("kubernetes_validate")
    assert {file.stem for file in (EXAMPLES / "overlays").glob("*.yaml")} == set(OVERLAYS)
    words = [word for one in overlays for word in ("--overlay", one)]
    shown = subprocess.run([sys.executable, EXAMPLES / "expand.py", "--name", "mine", "--nodes", "3", "--slots", "4",
                            "--image", "train:1", *words, "--", "python3", "train.py", "--lr", "1"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    job = yaml.safe_load(shown)
    validate.validate(job, "1.31", strict=True)
    container = pod_of(job)["containers"][0]
    env = {one["name"]: one["value"] for one in container["env"]}
    assert container["command"] == ["ms-worker", "--", "python3", "train.py", "--lr", "1"]
    assert (env["MS_WORKER_NUM"], env["MS_LOCAL_WORKER"], job["spec"]["completions"]) == ("12", "4", 3), env
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 4
    assert ("MS_TLS_CONFIG" in env) == ("no-tls" not in overlays)
    assert "NCCL_IB_HCA" in env or "rdma" not in overlays


def test_codes_and_names_are_those_of_the_programs():
    job = documents("job.yaml")["Job"]
    rules = job["spec"]["podFailurePolicy"]["rules"]
    codes = {rule["action"]: rule["onExitCodes"]["values"] for rule in rules if "onExitCodes" in rule}
    header = (ROOT / "common/base/exit_codes.h").read_text()
    for action, names in (("FailJob", ("Usage", "Refused", "Security", "GaveUp", "Stopped")),
                          ("Ignore", ("FailedElsewhere", "SchedulerLost"))):
        assert len(names) == len(codes[action])
        for name, code in zip(names, codes[action]):
            assert "kExit%s = %d," % (name, code) in header
    for document in (job, documents("jobset.yaml")["JobSet"]["spec"]["replicatedJobs"][0]["template"]):
        container = pod_of(document)["containers"][0]
        variables = {one["name"]: one.get("value", "taken") for one in container["env"]}
        settings = {name: value for name, value in variables.items() if name.startswith("MS_") and name != "MS_TLS_CONFIG"}
        environment = {**settings, "JOB_COMPLETION_INDEX": "1", "HOSTNAME": "train-1", "PATH": os.environ["PATH"],
                       **({"JOBSET_NAME": "train", "JOBSET_REPLICATEDJOB_REPLICAS": "1"} if "JOBSET_NAME" in variables
                          else {})}
        assert container["command"][0] == "ms-worker"
        shown = subprocess.run([BIN / "ms-worker", "--check_config", *container["command"][1:]], env=environment,
                               check=True, text=True, stdout=subprocess.PIPE).stdout
        assert "JOB_COMPLETION_INDEX" in shown and "MS_WORKER_NUM" in shown


@pytest.fixture
def certificates(tmp_path):
    at = tmp_path / "certs"
    for words in (["init"], ["scheduler", "--host", "localhost"], ["node", "--id", "*", "--name", "node"]):
        subprocess.run([BIN / "ms-ctl", "certs", *words, "--dir", at], check=True, stdout=subprocess.DEVNULL)
    return at


def test_the_scheduler_runs_as_its_manifest_says_in_a_root_with_nothing_else(dist, cluster, certificates):
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    (wheel,) = dist.glob("*.whl")
    root, volumes = cluster.folder / "root", cluster.folder / "volumes"
    for folder in ("usr/bin", "etc/muster/tls", "var/lib/muster", "run/muster", "proc"):
        (root / folder).mkdir(parents=True)
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n")
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            if "/scripts/" in entry.filename:
                (root / "usr/bin" / pathlib.Path(entry.filename).name).write_bytes(archive.read(entry))
                (root / "usr/bin" / pathlib.Path(entry.filename).name).chmod(0o755)
    spec = pod_of(documents("scheduler.yaml")["StatefulSet"])
    user, group = spec["securityContext"]["runAsUser"], spec["securityContext"]["fsGroup"]
    for path in ("journal", "run", "tls"):  # as a kubelet makes them: root's, with the group of fsGroup
        (volumes / path).mkdir(parents=True)
        os.chown(volumes / path, 0, group)
        (volumes / path).chmod(0o2775)
    for file in (certificates / "scheduler").iterdir():
        to = volumes / "tls" / file.name
        to.write_bytes(file.read_bytes())
        os.chown(to, 0, group)
        to.chmod(spec["volumes"][1]["secret"]["defaultMode"])
    args = [word for word in spec["containers"][0]["args"] if not word.startswith(("--sched_host", "--listen", "--http_a"))]
    mounts = "; ".join("mount --bind %s/%s .%s" % (volumes, mount["name"], mount["mountPath"])
                       for mount in spec["containers"][0]["volumeMounts"])
    script = ("set -eu; cd %s; mount --bind . .; cd %s; %s; mount -t proc proc proc; mount -o remount,ro,bind .; "
              "exec env -i /usr/sbin/chroot --userspec=%d:%d --groups=%d . /usr/bin/ms-scheduler --sched_host localhost "
              "--sched_port 0 --http_address off %s" % (root, root, mounts, user, user, group, " ".join(args)))
    scheduler = cluster.start("scheduler", ["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script],
                              kind=Scheduler)
    scheduler.find_port()
    assert (volumes / "journal" / "journal.db").exists() and (volumes / "run" / "own" / "scheduler.sock").exists()
    node = certificates / "node" / "tls.json"
    agent = cluster.start("agent", [BIN / "ms-worker", "--sched_host", "localhost", "--sched_port", scheduler.port,
                                    "--tls_config", node, "--from", "k8s", "--worker_num", "1", "--", "true"],
                          env={"HOSTNAME": "train-0", "JOB_COMPLETION_INDEX": "0"})
    agent.expect(0)
    eventually(lambda: "job train succeeded" in scheduler.output(), 10, "the scheduler logs the job's success")
    assert "WARNING" not in scheduler.output(), scheduler.output()
