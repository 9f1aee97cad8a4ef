"""torchft's Rust core, from its wheel: managers, clients and the real lighthouse. It needs no torch."""

import glob
import importlib.util
from datetime import timedelta

import wheels

VERSIONS = {"0.2.0": "torchft==0.2.0", "nightly": "torchft-nightly==2026.10.26"}
BESIDE = "opentelemetry-exporter-otlp==1.45.2"  # what its Python part imports in addition to torch


def library(version):
    """The path of the core."""
    return glob.glob(str(wheels.folder(VERSIONS[version], "--no-deps") / "torchft" / "_torchft*.so"))[0]


def python_path():
    """The path on which a Python with torch finds torchft."""
    return "%s:%s" % (wheels.folder(VERSIONS["0.2.0"], "--no-deps"), wheels.folder(BESIDE))


def load(path):
    spec = importlib.util.spec_from_file_location("torchft._torchft", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Replica:
    """A replica group of one process: its manager sends heartbeats from now on."""

    def __init__(self, core, replica_id, lighthouse, heartbeat_ms=100):
        self.replica_id = replica_id
        self.server = core.ManagerServer(replica_id=replica_id, lighthouse_addr=lighthouse, hostname="127.0.0.1", bind="127.0.0.1:0",
                                         store_addr="store of " + replica_id, world_size=1,
                                         heartbeat_interval=timedelta(milliseconds=heartbeat_ms),
                                         connect_timeout=timedelta(seconds=10), quorum_retries=0)
        self.more = {"reconfigure_handle": "handle of " + replica_id} if "nightly" in core.__file__ else {}
        self.client = core.ManagerClient(self.server.address(), timedelta(seconds=10))

    def quorum(self, step, timeout, shrink_only=False, commit_failures=0):
        """The manager's result of the quorum; None: none came in time."""
        try:
            got = self.client._quorum(group_rank=0, step=step, checkpoint_metadata="", shrink_only=shrink_only, init_sync=True,
                                      timeout=timedelta(seconds=timeout), commit_failures=commit_failures, **self.more)
        except (TimeoutError, RuntimeError):
            return None
        return {"quorum_id": got.quorum_id, "rank": got.replica_rank, "world": got.replica_world_size, "heal": got.heal,
                "heals_from": got.recover_src_replica_rank, "heals": sorted(got.recover_dst_replica_ranks),
                "max_step": got.max_step, "max_rank": got.max_replica_rank, "store": got.store_address}

    def end(self):
        self.server.shutdown()
