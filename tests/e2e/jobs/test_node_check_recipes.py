"""The node checks of examples/node_checks, with fake tools that print what the real ones print, and without tools."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from muster import ROOT, SLOWNESS, eventually

CHECKS = ROOT / "examples" / "node_checks"
FIT, UNFIT, WRONG_WORDS, NO_RESULT = 0, 1, 2, 3


def run(*argv, **env):
    """Runs the check as the agent does. Returns its exit code and the last line of its output."""
    done = subprocess.run([str(word) for word in argv], env={**os.environ, **env}, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * SLOWNESS)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return done.returncode, lines[-1] if lines else ""


class Tools:
    """A folder that is the whole PATH: what each system has, and fakes."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        for name in ("sh", "awk", "cat", "grep", "head", "sleep", "timeout", "tr", "true"):
            (folder / name).symlink_to(shutil.which(name))

    def fake(self, name, script):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def run(self, check, *words):
        return run("sh", CHECKS / check, *words, PATH=str(self.folder))


@pytest.fixture
def tools(tmp_path):
    return Tools(tmp_path / "bin")


# dcgmi diag -r 1 -j of DCGM 4: NVIDIA/DCGM, dcgmi/Diag.cpp and testing/python3/dcgm_diag_schema.json.

def dcgm_4(results, summary):
    return """{
\t"DCGM Diagnostic" :
\t{
\t\t"test_categories" :
\t\t[
\t\t\t{
\t\t\t\t"category" : "Deployment",
\t\t\t\t"tests" :
\t\t\t\t[
\t\t\t\t\t{
\t\t\t\t\t\t"name" : "software",
\t\t\t\t\t\t"results" :
\t\t\t\t\t\t[
%s
\t\t\t\t\t\t],
\t\t\t\t\t\t"test_summary" :
\t\t\t\t\t\t{
%s
\t\t\t\t\t\t}
\t\t\t\t\t}
\t\t\t\t]
\t\t\t}
\t\t]
\t},
\t"entity_groups" :
\t[
\t\t{
\t\t\t"entities" :
\t\t\t[
\t\t\t\t{
\t\t\t\t\t"device_id" : "2330",
\t\t\t\t\t"entity_id" : 0,
\t\t\t\t\t"serial_num" : "1650000000001"
\t\t\t\t}
\t\t\t],
\t\t\t"entity_group" : "GPU",
\t\t\t"entity_group_id" : 1
\t\t}
\t],
\t"metadata" :
\t{
\t\t"Driver Version Detected" : "580.82.09",
\t\t"version" : "4.2.3"
\t}
}
""" % (",\n".join(results), summary)


def gpu_4(number, status, *warnings):
    listed = ",\n".join("""\t{
\t\t"error_category" : 8,
\t\t"error_id" : 29,
\t\t"error_severity" : 5,
\t\t"warning" : "%s"
\t}""" % warning for warning in warnings)
    return """\t{
\t\t"entity_group" : "GPU",
\t\t"entity_group_id" : 1,
\t\t"entity_id" : %d,
\t\t"info" :
\t\t[
\t\t\t"Allocated 100 bytes, \\"status\\" : \\"Fail\\" is no status here"
\t\t],
\t\t"status" : "%s"%s
\t}""" % (number, status, ",\n\t\t\"warnings\" :\n\t\t[\n%s\n\t\t]" % listed if warnings else "")


PERSISTENCE = ('Persistence Mode: Persistence mode for GPU %d is disabled. Enable persistence mode by running '
               '\\"nvidia-smi -i <gpuId> -pm 1 \\" as root.')

# DCGM 3: the same tree with "gpu_ids", a test for each subject, and another name of the root.
DCGM_3 = """{
   "DCGM GPU Diagnostic" : {
      "test_categories" : [
         {
            "category" : "Deployment",
            "tests" : [
               {"name" : "Denylist", "results" : [{"gpu_ids" : "0,1,2,3", "status" : "PASS"}]},
               {"name" : "Inforom", "results" : [
                  {"gpu_ids" : "0", "status" : "PASS"},
                  {"gpu_ids" : "2", "status" : "%s", "warnings" : [
                     {"error_id" : 66, "warning" : "Error detected in the inforom of GPU 2."}]}]}
            ]
         }
      ],
      "version" : "3.3.5"
   }
}
"""


def fake_dcgmi(tools, output, code):
    (tools.folder / "dcgmi.txt").write_text(output)
    tools.fake("dcgmi", 'echo "$*" >"${0%%/*}/dcgmi.words"\ncat "${0%%/*}/dcgmi.txt"\nexit %d\n' % code)


def test_dcgm_passes_healthy_gpus(tools):
    fake_dcgmi(tools, dcgm_4([gpu_4(gpu, "Pass") for gpu in range(8)], '"status" : "Pass"'), 0)
    assert tools.run("dcgm.sh") == (FIT, "dcgmi diag: passed on 8 GPUs")
    assert (tools.folder / "dcgmi.words").read_text() == "diag -r 1 -j\n"
    fake_dcgmi(tools, DCGM_3 % "PASS", 0)
    assert tools.run("dcgm.sh", "--if_available", "--", "-i", "0,1") == (FIT, "dcgmi diag: passed on 4 GPUs")
    assert (tools.folder / "dcgmi.words").read_text() == "diag -r 1 -j -i 0,1\n"


def test_dcgm_names_the_gpus_that_fail(tools):
    results = [gpu_4(0, "Pass"), gpu_4(1, "Fail", PERSISTENCE % 1), gpu_4(2, "Skip", "not supported"),
               gpu_4(3, "Fail", PERSISTENCE % 3)]
    fake_dcgmi(tools, dcgm_4(results, '"status" : "Fail"'), 226)
    code, line = tools.run("dcgm.sh")
    assert code == UNFIT
    assert line.startswith("dcgmi diag: GPU 1, GPU 3 failed; software on GPU 1: Persistence Mode: Persistence mode "
                           "for GPU 1 is disabled. Enable persistence mode by running \"nvidia-smi -i <gpuId>"), line
    compact = re.sub(r"\s*\n\s*", "", dcgm_4(results, '"status" : "Fail"'))
    fake_dcgmi(tools, compact, 226)
    assert tools.run("dcgm.sh") == (code, line), "the layout of the JSON does not matter"
    fake_dcgmi(tools, DCGM_3 % "FAIL", 226)
    assert tools.run("dcgm.sh") == (UNFIT, "dcgmi diag: GPU 2 failed; Inforom on GPU 2: Error detected in the inforom "
                                    "of GPU 2.")
    summary = '"status" : "Fail", "warnings" : [ {"error_id" : 31, "warning" : "Fabric Manager is not running."} ]'
    fake_dcgmi(tools, dcgm_4([gpu_4(0, "Pass")], summary), 226)
    assert tools.run("dcgm.sh") == (UNFIT, "dcgmi diag: software failed; software: Fabric Manager is not running.")


def test_dcgm_without_a_result_does_not_pass(tools):
    fake_dcgmi(tools, '{"DCGM Diagnostic" : {"runtime_error" : "Error: Unable to complete diagnostic. Return: (-39) : '
               'A diag instance is already running\\n", "version" : "4.2.3"}}', 217)
    assert tools.run("dcgm.sh") == (NO_RESULT, "dcgmi diag could not run: Error: Unable to complete diagnostic. "
                                    "Return: (-39) : A diag instance is already running ")
    fake_dcgmi(tools, "Error: Unable to start an embedded host engine. DCGM library could not be found.\n", 231)
    assert tools.run("dcgm.sh") == (NO_RESULT, "dcgmi diag ended with code 231: Error: Unable to start an embedded "
                                    "host engine. DCGM library could not be found.")
    fake_dcgmi(tools, dcgm_4([gpu_4(0, "Skip")], '"status" : "Skip"'), 0)
    assert tools.run("dcgm.sh") == (NO_RESULT, "dcgmi diag ran no test: all were skipped")
    fake_dcgmi(tools, "", 0)
    assert tools.run("dcgm.sh")[0] == NO_RESULT
    tools.fake("dcgmi", "exec sleep 100\n")
    assert tools.run("dcgm.sh", "--limit", "1") == (NO_RESULT, "dcgmi diag did not end within 1 s: see the log of "
                                                    "nv-hostengine, or raise --limit")


@pytest.mark.parametrize("check, tool", [("dcgm.sh", "dcgmi"), ("npu_smi.sh", "npu-smi")])
def test_without_the_tool(tools, check, tool):
    code, line = tools.run(check)
    assert code == NO_RESULT and line.startswith("there is no %s: install" % tool), line
    assert tools.run(check, "--if_available") == (FIT, "skipped: there is no " + tool)
    code, line = tools.run(check, "--if-available")
    assert code == WRONG_WORDS and "unknown word '--if-available'" in line


# npu-smi: hiascend.com, "查询所有NPU设备" (info -l), "查询所有芯片健康状态" and "查询指定芯片健康状态" (info -t health).

def npu_line(key, value):
    return "        %-30s : %s\n" % (key, value)


def npu_list(cards):
    return npu_line("Total Count", len(cards)) + "".join(
        "\n" + npu_line("NPU ID", card) + npu_line("Product Name", "IT21PDDA01") +
        npu_line("Serial Number", "033VNY10MB000071") + npu_line("Chip Count", 1) for card in cards)


def npu_health(card, health, microcontroller="OK"):
    return (npu_line("NPU ID", card) + npu_line("Chip Count", 1) + "\n" + npu_line("Chip ID", 0) +
            npu_line("Health", health) + "\n" + npu_line("Health", microcontroller) + npu_line("Chip Name", "MCU"))


def npu_chip(health, error="NA", information="NA"):
    return (npu_line("Health Status", health) + npu_line("Error Code", error) +
            npu_line("Error Information", information))


def fake_npu_smi(tools, answers):
    """`answers`: the output for each command line."""
    for words, output in answers.items():
        (tools.folder / ("npu-smi " + words)).write_text(output)
    tools.fake("npu-smi", 'cat "${0%/*}/npu-smi $*" 2>/dev/null || { echo "Error parameter of $*"; exit 1; }\n')


def test_npu_smi_passes_healthy_cards(tools):
    fake_npu_smi(tools, {"info -l": "[WARNING]The driver package may not be completely installed\n" + npu_list([0, 4]),
                         "info -t health -i 0": npu_health(0, "OK"),
                         # newer products
                         "info -t health -i 4": npu_line("NPU ID", 4) + npu_line("Health", "OK") +
                         npu_line("Error Code", "NA") + npu_line("Error Information", "NA")})
    assert tools.run("npu_smi.sh") == (FIT, "npu-smi: 2 cards are healthy")
    assert tools.run("npu_smi.sh", "--expect", "2") == (FIT, "npu-smi: 2 cards are healthy")
    assert tools.run("npu_smi.sh", "--expect", "8") == (UNFIT, "npu-smi lists 2 cards, 8 are expected: 0 4")


def test_npu_smi_names_the_cards_that_are_not_healthy(tools):
    answers = {"info -l": npu_list(range(4)),
               "info -t health -i 0": npu_health(0, "OK"),
               "info -t health -i 1": npu_health(1, "Alarm"),
               "info -t health -i 1 -c 0": npu_chip("Alarm", "80E01801", "node type=SOC, sensor type=Temperature"),
               "info -t health -i 2": npu_health(2, "OK", microcontroller="Critical"),
               "info -t health -i 2 -c 0": npu_chip("OK"),
               "info -t health -i 3": npu_health(3, "OK")}
    fake_npu_smi(tools, answers)
    assert tools.run("npu_smi.sh") == (UNFIT, "NPU 1: Alarm, error 80E01801 node type=SOC, sensor type=Temperature; "
                                       "NPU 2: Critical")
    fake_npu_smi(tools, {**answers, "info -t health -i 1": npu_health(1, "Warning"),
                         "info -t health -i 2": npu_health(2, "OK")})
    assert tools.run("npu_smi.sh")[0] == UNFIT
    assert tools.run("npu_smi.sh", "--allow_warning") == (FIT, "npu-smi: 4 cards are healthy")


def test_npu_smi_without_an_answer_does_not_pass(tools):
    fake_npu_smi(tools, {"info -l": npu_list([0])})
    assert tools.run("npu_smi.sh") == (NO_RESULT, "npu-smi info -t health -i 0 ended with code 1: Error parameter of "
                                       "info -t health -i 0")
    fake_npu_smi(tools, {"info -l": npu_list([]), "info -t health -i 0": "no health\n"})
    assert tools.run("npu_smi.sh")[0] == NO_RESULT
    fake_npu_smi(tools, {"info -l": npu_list([0])})
    assert tools.run("npu_smi.sh") == (NO_RESULT, "npu-smi info -t health -i 0 shows no health: no health")
    tools.fake("npu-smi", "exec sleep 100\n")
    assert tools.run("npu_smi.sh", "--limit", "1") == (
        NO_RESULT, "npu-smi info -l did not end within 1 s: the driver may hang; see dmesg")


class Daemon:
    """The service of nvhcd.proto (NVIDIA/nvidia-resiliency-ext, shared_utils/proto), with real gRPC and protobuf."""

    def __init__(self, folder):
        grpc = pytest.importorskip("grpc")
        descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
        from concurrent import futures

        from google.protobuf import descriptor_pool, message_factory
        pool = descriptor_pool.DescriptorPool()
        kinds = descriptor_pb2.FieldDescriptorProto
        file = descriptor_pb2.FileDescriptorProto(name="nvhcd.proto", package="nvhcd", syntax="proto3")
        for name, fields in (("HealthCheckRequest", [("args", kinds.TYPE_STRING, kinds.LABEL_REPEATED)]),
                             ("HealthCheckResponse", [("success", kinds.TYPE_BOOL, kinds.LABEL_OPTIONAL),
                                                      ("exit_code", kinds.TYPE_INT32, kinds.LABEL_OPTIONAL),
                                                      ("output", kinds.TYPE_STRING, kinds.LABEL_OPTIONAL),
                                                      ("error", kinds.TYPE_STRING, kinds.LABEL_OPTIONAL)])):
            message = file.message_type.add(name=name)
            for number, (field, kind, label) in enumerate(fields, 1):
                message.field.add(name=field, number=number, type=kind, label=label)
        pool.Add(file)

        def class_of(name):
            descriptor = pool.FindMessageTypeByName("nvhcd." + name)
            if hasattr(message_factory, "GetMessageClass"):
                return message_factory.GetMessageClass(descriptor)
            return message_factory.MessageFactory(pool).GetPrototype(descriptor)
        request, self.response = class_of("HealthCheckRequest"), class_of("HealthCheckResponse")
        self.answer, self.asked = None, []
        self.may_answer = threading.Event()
        self.may_answer.set()
        handler = grpc.unary_unary_rpc_method_handler(self.run_health_check, request.FromString,
                                                      self.response.SerializeToString)
        self.server = grpc.server(futures.ThreadPoolExecutor(1))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(
            "nvhcd.HealthCheckService", {"RunHealthCheck": handler}),))
        self.socket = os.path.join(folder, "nvhcd.sock")
        self.server.add_insecure_port("unix:" + self.socket)
        self.server.start()

    def run_health_check(self, request, context):
        self.asked.append(list(request.args))
        self.may_answer.wait(30)
        return self.answer

    def check(self, *words, **answer):
        self.answer = self.response(**answer)
        return run(sys.executable, CHECKS / "nvhcd.py", "--socket", self.socket, *words)


@pytest.fixture
def daemon():
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is too long for a socket
        made = Daemon(folder)
        yield made
        made.may_answer.set()
        made.server.stop(None).wait()


def test_nvhcd_asks_the_daemon(daemon):
    assert daemon.check(success=True, output='{"fail_count": 0, "failed_checks": []}\n') == (
        FIT, "nvhcd: no check failed")
    assert daemon.asked == [["--no-slurm"]]
    daemon.check("--argument=--quick", "--argument", "é" * 100, success=True, output='{"fail_count": 0}')
    assert daemon.asked[-1] == ["--quick", "é" * 100]
    assert daemon.check(success=True, output='{"fail_count": 2, "failed_checks": ["gpu_count", "ib_link"]}') == (
        UNFIT, "nvhcd: 2 checks failed: gpu_count, ib_link")
    assert daemon.check(success=False, exit_code=-2, error="exec:\n not found") == (
        UNFIT, "nvhcd: the daemon's health check failed with code -2: exec: not found")
    assert daemon.check(success=False, exit_code=42, output='{"detail": "failed"}') == (
        UNFIT, 'nvhcd: the daemon\'s health check failed with code 42: {"detail": "failed"}')
    for output in ("", "[]", '{"fail": 0}', "fine"):
        assert daemon.check(success=True, output=output) == (
            UNFIT, "nvhcd: the daemon's output is no JSON object with a fail_count: '%s'" % output)


def test_nvhcd_without_an_answer_does_not_pass(daemon, tmp_path):
    daemon.may_answer.clear()
    code, line = daemon.check("--timeout_s", "0.3", success=True, output='{"fail_count": 0}')
    assert code == NO_RESULT and "DEADLINE_EXCEEDED" in line, line
    daemon.may_answer.set()
    daemon.server.stop(None).wait()
    open(daemon.socket, "a").close()  # a file that no daemon listens at
    code, line = daemon.check("--if_available", success=True)
    assert code == NO_RESULT and "UNAVAILABLE" in line, line


def test_nvhcd_without_the_daemon_or_grpcio(tmp_path):
    check = (sys.executable, CHECKS / "nvhcd.py", "--socket", tmp_path / "none")
    assert run(*check) == (NO_RESULT, "nvhcd: there is no socket %s/none: start the daemon, or pass --if_available" %
                           tmp_path)
    assert run(*check, "--if_available") == (FIT, "skipped: there is no socket %s/none" % tmp_path)
    (tmp_path / "grpc.py").write_text("raise ImportError('no grpc here')\n")
    (tmp_path / "none").write_text("")
    code, line = run(*check, PYTHONPATH=str(tmp_path))
    assert code == NO_RESULT and line.endswith("no grpc here: install grpcio, or pass --if_available"), line
    code, line = run(*check, "--if_available", PYTHONPATH=str(tmp_path))
    assert code == FIT and line.startswith("skipped: "), line


@pytest.mark.parametrize("way", ["numpy", "python"])
def test_speed_prints_a_score(way):
    if way == "numpy":
        pytest.importorskip("numpy")
    code, line = run(sys.executable, CHECKS / "speed.py", "--with", way, "--seconds", "0.1")
    assert code == FIT and re.fullmatch(r"muster-score=\d+\.\d{6}", line) and float(line.split("=")[1]) > 0, line


def test_speed_needs_no_library(tmp_path):
    for name in ("numpy", "torch"):
        (tmp_path / (name + ".py")).write_text("raise ImportError('none here')\n")
    done = subprocess.run([sys.executable, CHECKS / "speed.py", "--seconds", "0.1"], text=True, stdout=subprocess.PIPE,
                          env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True)
    assert re.match(r"speed: Python 3\.\d+: 10 products .*\nmuster-score=", done.stdout), done.stdout
    code, line = run(sys.executable, CHECKS / "speed.py", "--with", "torch", PYTHONPATH=str(tmp_path))
    assert code == NO_RESULT and line.startswith("speed: torch can't be used by ") and line.endswith("none here"), line


def disk(folder, *words, **env):
    return run(sys.executable, CHECKS / "disk.py", "--folder", folder, "--size_mb", 2, *words, **env)


def with_fsync(tmp_path, body):
    """A disk with another fsync: each Python imports sitecustomize at its start. `body` may use the true fsync."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, time\nfsync = os.fsync\ndef replaced(fd):\n    %s\nos.fsync = replaced\n" % body)
    return {"PYTHONPATH": str(tmp_path)}


def test_disk_checks_a_folder_and_leaves_nothing(tmp_path):
    folder = tmp_path / "data"
    assert disk(folder) == (UNFIT, "disk: %s: it does not exist: mount it, or pass --if_available" % folder)
    assert disk(folder, "--if_available") == (FIT, "skipped: %s does not exist" % folder)
    folder.mkdir()
    code, line = disk(folder, "--max_fsync_ms", 60000, "--max_stat_ms", 60000)
    assert code == FIT and re.fullmatch(
        r"disk: %s: fsync \d+\.\d ms, stat \d+\.\d\d ms, writing \d+ MB/s" % re.escape(str(folder)), line), line
    code, line = disk(folder, "--max_stat_ms", 0)
    assert code == UNFIT and line.endswith("longer than --max_stat_ms 0"), line
    code, line = disk(folder, "--max_fsync_ms", 10, **with_fsync(tmp_path, "time.sleep(0.02)"))
    assert code == UNFIT and re.search(r": fsync takes \d+\.\d ms, longer than --max_fsync_ms 10$", line), line
    assert list(folder.iterdir()) == []
    (tmp_path / "file").write_text("")
    assert disk(tmp_path / "file") == (UNFIT, "disk: %s/file: creating a file failed: Not a directory" % tmp_path)


def test_disk_finds_bytes_that_changed(tmp_path):
    env = with_fsync(tmp_path, "fsync(fd); os.pwrite(fd, b'flipped', 1 << 20)")
    assert disk(tmp_path, **env) == (
        UNFIT, "disk: %s: reading failed: what is read differs from what was written, in MiB 1" % tmp_path)


def test_disk_ends_when_the_folder_hangs(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    begin = time.monotonic()
    code, line = disk(folder, "--limit_s", 1 * SLOWNESS, **with_fsync(tmp_path, "time.sleep(1000)"))
    assert time.monotonic() - begin < 5 * SLOWNESS
    assert code == UNFIT and re.search(
        r": no answer within \S+ s, while writing 2 MiB: it may hang, see dmesg and /proc/mounts$", line), line
    assert list(folder.iterdir()) == []


def test_disk_leaves_nothing_when_it_is_killed(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    marker = tmp_path / "syncs"
    env = with_fsync(tmp_path, "open(%r, 'w').close(); time.sleep(1000)" % str(marker))
    check = subprocess.Popen([sys.executable, CHECKS / "disk.py", "--folder", folder], start_new_session=True,
                             stdout=subprocess.DEVNULL, env={**os.environ, **env})
    eventually(marker.exists, 20, "the check syncs its file")
    os.killpg(check.pid, signal.SIGKILL)
    assert check.wait(10) == -signal.SIGKILL and list(folder.iterdir()) == []


def test_the_check_of_the_readme(tmp_path):
    text = (CHECKS / "README.md").read_text()
    script, = re.findall(r"```sh\n(#!/bin/sh\n.*?)```", text[text.index("## Write your own"):], re.DOTALL)
    assert len(script.splitlines()) == 5
    path = tmp_path / "check.sh"
    for needed, expected_code, expected in ((0, FIT, r"%s: \d+ GiB are free"),
                                            (99999999, UNFIT, r"%s: only \d+ GiB are free, 99999999 are needed")):
        path.write_text(script.replace("/scratch", str(tmp_path)).replace("50", str(needed)))
        code, line = run("sh", path)
        assert code == expected_code and re.fullmatch(expected % re.escape(str(tmp_path)), line), line
    path.write_text(script.replace("/scratch", str(tmp_path / "none")))
    code, line = run("sh", path)
    assert code == NO_RESULT and line.startswith("df: "), line
