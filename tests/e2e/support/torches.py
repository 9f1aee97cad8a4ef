"""The PyTorch versions that the tests know, and the Pythons that have them."""

import os
import subprocess

import pytest

DEBIAN_PYTHON = "/usr/bin/python3"


def has_torch(python):
    return bool(python) and subprocess.run(
        [python, "-c", "import sklearn, torch, torch.distributed"], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL).returncode == 0


def python_with(which):
    python = os.environ.get("MUSTER_PYTHON", "") if which == "torch-2.13" else DEBIAN_PYTHON
    if not has_torch(python):
        pytest.skip("no python with %s (%s)" % (which, python or "MUSTER_PYTHON is not set"))
    return python
