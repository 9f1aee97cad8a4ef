"""Unpacks wheels from PyPI for the tests, without installing them."""

import os
import pathlib
import subprocess
import sys

import pytest


def folder(wheel, *words):
    """The folder of the unpacked wheel, "name==version". The first call unpacks it; skips the test if it can't be
    had."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "muster-tests" / wheel.replace("==", "-")
    if not (cache / "is-whole").exists():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade",
                               "--target", cache, wheel, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
        if done.returncode != 0:
            pytest.skip("%s can't be had: %s" % (wheel, " ".join(done.stdout.split())[-200:]))
        (cache / "is-whole").touch()
    return cache
