"""Schemathesis tests /api/v1/: every request that it derives from docs/api/openapi.json gets an answer that the
document describes."""

import json
import os
import pathlib
import subprocess

import pytest

from http_client import port_of
from muster import ROOT, SLOWNESS, WITH_TLS

pytestmark = pytest.mark.skipif(WITH_TLS, reason="asks in plain text")

TOKEN = "t" * 40
# Checks such as unsupported_method demand more than the document promises.
CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "negative_data_rejection", "missing_required_header")


def schemathesis():
    """Its program, in an environment of its own that is made if it is missing."""
    if os.environ.get("MUSTER_SCHEMATHESIS"):
        return os.environ["MUSTER_SCHEMATHESIS"]
    done = subprocess.run(["bash", ROOT / "tests" / "e2e" / "venv.sh", "schemathesis"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300)
    if done.returncode != 0:
        pytest.skip("schemathesis can't be had: " + " ".join(done.stderr.split())[-200:])
    return str(pathlib.Path(done.stdout.strip()).parent / "schemathesis")


def document(folder):
    """Our document, with the two jobs for its requests, and without the stream that never ends."""
    spec = json.loads((ROOT / "docs" / "api" / "openapi.json").read_text())
    del spec["paths"]["/api/v1/changes"]
    for path in spec["paths"].values():
        for call in path.values():
            for parameter in call["parameters"]:
                if parameter["name"] == "job" and parameter["in"] == "path":
                    parameter["schema"] = {"type": "string", "enum": ["default", "none"]}
    file = folder / "openapi.json"
    file.write_text(json.dumps(spec))
    return file


def test_each_answer_is_described(cluster, tmp_path):
    program = schemathesis()
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    port = port_of(cluster.start_scheduler("--http_address", "127.0.0.1:0", "--http_token_file", token))
    cluster.start_agent("a", ["--worker_num", 1, "--enable_recovery"], ["sleep", "1000"])
    cluster.wait_until_running(1)
    done = subprocess.run(
        [program, "run", document(tmp_path), "--url", "http://127.0.0.1:%d" % port, "--header", "Authorization: Bearer " + TOKEN,
         "--checks", ",".join(CHECKS), "--max-examples", "20", "--seed", "25", "--phases", "examples,coverage,fuzzing",
         "--request-timeout", "10", "--continue-on-failure", "--warnings", "off", "--no-color"],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120 * SLOWNESS)
    assert done.returncode == 0, done.stdout[-8000:]
