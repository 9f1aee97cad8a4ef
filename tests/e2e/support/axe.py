"""axe-core, which finds what keeps people with disabilities from using a page. From a wheel that carries its script."""

import os
import pathlib
import subprocess
import sys

import pytest

WHEEL = "axe-playwright-python==0.1.8"  # axe-core 4.12; its Python part is not used


def script():
    """Skips the test where it can't be had."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "muster-tests" / WHEEL.replace("==", "-")
    file = cache / "axe_playwright_python" / "axe.min.js"
    if not file.exists():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                               "--target", cache, WHEEL], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        if done.returncode != 0 or not file.exists():
            pytest.skip("axe-core can't be had: " + " ".join(done.stdout.split())[-200:])
    return file.read_text()


def findings(browser):
    """What it finds on the page that is shown, a line each: minor things, too."""
    browser.run(script())
    found = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then((r) => done(r.violations), (e) => done(String(e)));")
    assert isinstance(found, list), found
    return ["%s: %s: %s" % (one["impact"], one["help"], node["html"][:200] + " " + node["failureSummary"].replace("\n", " ")[:300])
            for one in found for node in one["nodes"]]
