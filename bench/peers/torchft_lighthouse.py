"""torchft's lighthouse: a quorum of N members, which corresponds to a round; then its heartbeats.

    torchft_lighthouse.py --measure form|heartbeat --agents 1000 [--window 20 --interval 5]

The server is that of the wheel `torchft` (Rust, tokio), in a process of its own, with a quorum of exactly N members.
Its folder, into which run.sh installs the wheel, must be on PYTHONPATH. The wheel requires PyTorch, but the
lighthouse does not need it and does not load it. The generator is peer_load.
"""

import importlib
import importlib.machinery
import pathlib
import re
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from measuring import Failed, Server, become_main, load_options, run_load  # noqa: E402


def native_module():
    """Returns torchft's own server without the parts that the package loads for training (PyTorch, telemetry)."""
    spec = importlib.machinery.PathFinder.find_spec("torchft")
    if spec is None:
        raise Failed("the wheel torchft is not installed")
    package = types.ModuleType("torchft")
    package.__path__ = spec.submodule_search_locations
    sys.modules["torchft"] = package
    return importlib.import_module("torchft._torchft")


def serve(agents):
    """Runs as a program of its own: the lighthouse until it is killed."""
    server = native_module().LighthouseServer(bind="127.0.0.1:0", min_replicas=agents, join_timeout_ms=60000,
                                              quorum_tick_ms=100, heartbeat_timeout_ms=60000)
    print("address %s" % server.address(), flush=True)
    sys.stdin.read()


def measure():
    options = load_options()
    native_module()
    with Server([sys.executable, __file__, "--serve", options.agents], stays_open=True) as server:
        address = server.expect(lambda text: re.search(r"address http://\S+:(\d+)", text))
        return run_load("torchft", options, "127.0.0.1:%s" % address.group(1), server.pid)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        become_main(measure)
