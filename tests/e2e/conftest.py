import os
import pathlib
import signal
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "support"))

import muster  # noqa: E402
import netns  # noqa: E402
import starvation  # noqa: E402
import torches  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "xdist_group(name): not beside others of that name, where tests run side by side")
    config.addinivalue_line("markers", "measures: holds durations against bounds, so few others run beside it")
    config.addinivalue_line("markers", "long: tests/run.sh runs it with --long only: one of its kind runs for each change")
    muster.become_subreaper()
    starvation.begin()
    # A shell's background job ignores SIGINT, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # set by nohup


def pytest_collection_modifyitems(items):
    for item in items:
        if "measured" in item.fixturenames:
            item.add_marker("measures")


def pytest_sessionstart(session):
    for program in ("ms-scheduler", "ms-worker", "ms-ctl"):
        if not (muster.BIN / program).exists() and not session.config.option.collectonly:
            pytest.exit("%s is not built; MUSTER_BIN names the folder" % (muster.BIN / program), returncode=2)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    cluster = item.funcargs.get("cluster") if hasattr(item, "funcargs") else None
    if report.when == "call" and report.failed and cluster is not None:
        report.sections.append(("programs", cluster.describe()))
    if report.failed:
        starvation.note(item.nodeid, call.start)


@pytest.fixture
def cluster(tmp_path):
    made = muster.Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture
def secured(cluster):
    from secured import Secured  # needs python3-cryptography
    return Secured(cluster)


@pytest.fixture
def network():
    made = netns.Network()
    yield made
    made.close()


@pytest.fixture
def measured(record_property, request):
    """measured("detection", 1.2, at_most=2) notes a duration and checks it against its bound."""
    def note(what, seconds, at_most):
        record_property(what, "%.3f s (at most %g s)" % (seconds, at_most * muster.SLOWNESS))
        path = os.environ.get("MUSTER_MEASUREMENTS")
        if path:
            with open(path, "a") as file:
                file.write("%s: %s: %.3f s\n" % (request.node.name, what, seconds))
        assert seconds <= at_most * muster.SLOWNESS, "%s took %.3f s, at most %g s are allowed" % (
            what, seconds, at_most * muster.SLOWNESS)
    return note


@pytest.fixture(scope="session", params=["torch-2.13", "torch-1.13"])
def each_torch(request):
    """A python for each PyTorch version that the tests use."""
    return torches.python_with(request.param)


@pytest.fixture(scope="session")
def newest_torch():
    """For tests that Debian's PyTorch can't run: its torchrun fails with Python 3.11."""
    return torches.python_with("torch-2.13")


@pytest.fixture(scope="session")
def any_torch():
    """Debian's PyTorch, which takes half the processor time of the newest one; with MUSTER_LONG=1 the newest one."""
    pythons = [torches.DEBIAN_PYTHON, os.environ.get("MUSTER_PYTHON", "")]
    for python in reversed(pythons) if os.environ.get("MUSTER_LONG") == "1" else pythons:
        if torches.has_torch(python):
            return python
    return pytest.skip("no python with PyTorch")
