"""For training scripts under ms-worker: a process's place in the job, its progress and stacks, the job's store, barriers.

    import muster
    job = muster.cluster()          # None outside of Muster
    print(job.rank, job.world_size, [peer.address for peer in job.peers])
    muster.enable_stacks()
    for step, batch in enumerate(batches):
        ...
        muster.progress(step)
    muster.store().set("best", "0.93")
    muster.barrier("written", timeout=60)

Needs only Python 3.8 or later. ms-worker adds this package to the end of its processes' PYTHONPATH.
"""

import json
import os
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple

from muster.job_store import RoundOver, Store, StoreError, barrier, store
from muster_training import enable_stacks, progress

__all__ = ["Cluster", "LocalRank", "Neighbour", "Peer", "RoundOver", "Store", "StoreError", "barrier", "cluster",
           "enable_stacks", "progress", "store"]

SCHEMA = "muster.cluster/1"


@dataclass(frozen=True)
class Peer:
    """One rank of the job."""

    rank: int
    node_id: str
    node_rank: int  # the number of its machine
    host: str
    address: str
    ring_port: int  # a port on its machine that is reserved for it
    device_id: str
    certificate_fingerprint: str  # empty without TLS


@dataclass(frozen=True)
class Neighbour:
    """A rank's neighbour in the ring of all ranks, in which the last rank is followed by rank 0."""

    rank: int
    node_id: str
    host: str
    address: str
    port: int


@dataclass(frozen=True)
class LocalRank:
    """One rank of this node."""

    rank: int
    local_rank: int
    device_id: str
    previous: Optional[Neighbour]
    next: Optional[Neighbour]


@dataclass(frozen=True)
class Cluster:
    """The content of MS_CLUSTER_FILE: the job in one round, as this node sees it."""

    job_id: str
    run: int
    round: int
    restart_count: int
    role: str
    world_size: int
    server_num: int
    nnodes: int
    node_id: str
    node_rank: int
    local_ranks: Tuple[LocalRank, ...]
    master_address: str
    master_port: int
    peers: Tuple[Peer, ...]  # by rank
    peers_complete: bool  # False in a job of more than 1,024 ranks: peers has only this node's ranks and their neighbours
    rank: Optional[int]  # RANK of this process (with --per_node that of its first slot); None if RANK is not set

    @property
    def local(self) -> Optional[LocalRank]:
        """The entry of `rank` in local_ranks; None if there is none."""
        return next((one for one in self.local_ranks if one.rank == self.rank), None)


def cluster(path: Optional[str] = None) -> Optional[Cluster]:
    """Returns the job, read from the file `path` or MS_CLUSTER_FILE. None if neither is given, as outside of Muster.

    Raises ValueError for a file of another schema, OSError for a file that can't be read.
    """
    path = path or os.environ.get("MS_CLUSTER_FILE")
    if not path:
        return None
    with open(path, encoding="utf-8") as file:
        text = json.load(file)
    if not isinstance(text, dict) or text.get("schema") != SCHEMA:
        raise ValueError("%s is not a cluster file of schema %s" % (path, SCHEMA))
    rank = os.environ.get("RANK", "")
    return Cluster(
        job_id=text["job_id"], run=text["run"], round=text["round"], restart_count=text["restart_count"],
        role=text["role"], world_size=text["world_size"], server_num=text["server_num"], nnodes=text["nnodes"],
        node_id=text["node_id"], node_rank=text["node_rank"],
        local_ranks=tuple(_local_rank(one) for one in text["local_ranks"]),
        master_address=text["master"]["address"], master_port=text["master"]["port"],
        peers=tuple(_peer(one) for one in text["peers"]), peers_complete=text["peers_complete"],
        rank=int(rank) if rank.isdigit() else None)


def _peer(text: Mapping[str, Any]) -> Peer:
    return Peer(rank=text["rank"], node_id=text["node_id"], node_rank=text["node_rank"], host=text["host"],
                address=text["address"], ring_port=text["ring_port"], device_id=str(text.get("device_id", "")),
                certificate_fingerprint=text.get("certificate_fingerprint", ""))


def _neighbour(text: Optional[Mapping[str, Any]]) -> Optional[Neighbour]:
    if not text:
        return None
    return Neighbour(rank=text["rank"], node_id=text["node_id"], host=text["host"], address=text["address"],
                     port=text["port"])


def _local_rank(text: Mapping[str, Any]) -> LocalRank:
    ring = text.get("ring") or {}
    return LocalRank(rank=text["rank"], local_rank=text["local_rank"], device_id=str(text.get("device_id", "")),
                     previous=_neighbour(ring.get("previous")), next=_neighbour(ring.get("next")))
