"""The job's key-value store and its barriers, through this node's ms-worker. See muster.store and muster.barrier."""

import base64
import json
import os
import socket
import threading
import time
from typing import Any, Dict, Iterable, List, Optional, Union

MAX_KEY_BYTES = 1000
MAX_VALUE_BYTES = 64 * 1024
TIMEOUT = 300.0  # seconds, if the caller gives none
LONGEST_WAIT = 5.0  # seconds; ms-worker accepts no longer wait in one request
PAUSE = 0.2  # seconds before a request is sent again because the scheduler is not reachable
WATCH_EVERY = 0.25  # seconds between two looks of watch(); ms-worker itself asks the scheduler once a second
GRACE = 5.0  # seconds that the answer to a barrier may take after the barrier's time is up

Value = Union[bytes, str]


class StoreError(Exception):
    """The job's store did not do what was asked; the message says why."""


class RoundOver(StoreError):
    """This round of the job is over: its values are gone, and ms-worker is about to stop this process."""


class _Link:
    """A connection to ms-worker. Each thread of each process has its own."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.pid = os.getpid()
        try:
            self.socket = socket.create_connection((host, int(port)), timeout=LONGEST_WAIT)
        except (OSError, ValueError) as error:
            raise StoreError("can't reach ms-worker at MUSTER_STORE=%s: %s" % (address, error)) from None
        self.lines = self.socket.makefile("rb")

    def ask(self, request: Dict[str, Any], limit: Optional[float]) -> Dict[str, Any]:
        """Returns the answer to the request. Raises socket.timeout after `limit` seconds, and StoreError if ms-worker has
        closed the connection."""
        self.socket.settimeout(limit)
        try:
            self.socket.sendall(json.dumps(request).encode() + b"\n")
            line = self.lines.readline()
        except socket.timeout:
            raise
        except OSError as error:
            raise StoreError("ms-worker has closed the connection: %s" % error) from None
        if not line.endswith(b"\n"):
            raise StoreError("ms-worker has closed the connection; its log says why")
        answer = json.loads(line.decode())
        assert isinstance(answer, dict)
        return answer

    def close(self) -> None:
        self.lines.close()
        self.socket.close()


class Store:
    """The job's key-value store. Call muster.store() to get it.

    Keys are text of up to 1,000 bytes. Values are bytes of up to 64 KiB; text is stored as UTF-8. All ranks see the
    same values. ms-worker sends them to the scheduler, with TLS if it is configured, and the scheduler keeps them in its
    journal. A value lives until the job's next round (lifetime="round") or until the run ends (lifetime="run"). Use
    "round" for values such as addresses, so that a restarted job does not see those of its last round.

    While the scheduler is not reachable, calls wait for it. Threads and forked processes may share a store. Calls raise

    - TimeoutError if the wait took longer than `timeout` seconds (None: no limit); a change may still be made then
    - ValueError for a key or value that is not allowed
    - RoundOver if the job starts again or ends
    - StoreError in all other cases
    """

    def __init__(self, address: str, timeout: Optional[float] = TIMEOUT) -> None:
        self.timeout = timeout
        self._address = address
        self._links = threading.local()

    # ---- reading

    def get(self, key: str, default: Optional[bytes] = None) -> Optional[bytes]:
        """Returns the key's value, or `default` if there is none."""
        value = self._read("get", key)
        return default if value is None else value

    def wait(self, key: str, timeout: Optional[float] = TIMEOUT) -> bytes:
        """Waits until the key exists and returns its value, which may be up to a second old."""
        deadline = _Deadline(timeout)
        while True:
            limit = min(LONGEST_WAIT, deadline.left())
            try:
                answer = self._ask({"op": "wait", "key": _checked_key(key), "limit_ms": int(limit * 1000)}, deadline)
            except _NotYet:
                if deadline.is_over():
                    raise TimeoutError("%r was not set within %s" % (key, deadline)) from None
                continue
            if answer["value"] is not None:
                return base64.b64decode(answer["value"])

    def watch(self, key: str, known: Optional[Value] = None, timeout: Optional[float] = TIMEOUT) -> Optional[bytes]:
        """Waits until the key's value differs from `known`, and returns the new value; None if the key was deleted.

        If `known` is None, waits until the key exists. Notices a change within about a second.
        """
        if known is None:
            return self.wait(key, timeout)
        was = _bytes(known)
        deadline = _Deadline(timeout)
        value = self._read("get", key, deadline)
        while value == was:
            if deadline.is_over():
                raise TimeoutError("%r did not change within %s" % (key, deadline))
            time.sleep(min(WATCH_EVERY, deadline.left()))
            value = self._read("peek", key, deadline)
        return value

    def list(self, prefix: str = "") -> Dict[str, bytes]:
        """Returns all keys that begin with `prefix`, sorted, with their values."""
        found: Dict[str, bytes] = {}
        after, has_more = "", True
        deadline = _Deadline(self.timeout)
        while has_more:
            answer = self._ask({"op": "list", "prefix": prefix, "after": after}, deadline)
            for key, value in answer["entries"]:
                found[key] = base64.b64decode(value)
                after = key
            has_more = answer["has_more"] and bool(answer["entries"])
        return found

    # ---- changing: a call returns once the scheduler has stored the change on its disk

    def set(self, key: str, value: Value, *, lifetime: str = "round") -> None:
        """Replaces the key's value."""
        self._change({"op": "set", "key": key, "value": _text(value), "lifetime": lifetime})

    def delete(self, key: str) -> None:
        """Deletes the key. A missing key is no error."""
        self._change({"op": "delete", "key": key})

    def add(self, key: str, delta: int = 1, *, lifetime: str = "round") -> int:
        """Adds `delta` to the key's decimal number (0 if the key is missing). Returns the sum."""
        return int(self._change({"op": "add", "key": key, "delta": delta, "lifetime": lifetime})["number"])

    def compare_and_set(self, key: str, expected: Optional[Value], value: Value, *,
                        lifetime: str = "round") -> Optional[bytes]:
        """Stores `value` if the key's value is `expected` (None: the key is missing). Returns the value that the key then
        has."""
        answer = self._change({"op": "compare_and_set", "key": key, "value": _text(value), "lifetime": lifetime,
                               "expected": None if expected is None else _text(expected)})
        return None if answer["value"] is None else base64.b64decode(answer["value"])

    def insert_once(self, key: str, value: Value, *, lifetime: str = "round") -> bytes:
        """Stores `value` if the key is missing. Returns the value that the key then has: `value`, or the earlier one."""
        held = self.compare_and_set(key, None, value, lifetime=lifetime)
        assert held is not None
        return held

    # ---- meeting

    def barrier(self, name: str, ranks: Optional[Iterable[int]] = None, timeout: Optional[float] = TIMEOUT) -> None:
        """See muster.barrier."""
        rank = os.environ.get("RANK", "")
        if not rank.isdigit() or "MUSTER_LOCAL_RANKS" in os.environ:
            raise StoreError("a barrier is for ranks, and this process has no rank of its own (--per_node, --per_job)")
        deadline = _Deadline(timeout)
        request: Dict[str, Any] = {"op": "barrier", "name": _checked_key(name), "rank": int(rank),
                                   "limit_ms": max(1, int(deadline.left() * 1000)) if deadline.limit is not None else 0}
        if ranks is not None:
            request["ranks"] = sorted(set(ranks))
            if not request["ranks"]:
                raise ValueError("a barrier needs at least one rank")
        self._ask(request, deadline, GRACE)

    # ---- asking

    def _read(self, op: str, key: str, deadline: Optional["_Deadline"] = None) -> Optional[bytes]:
        deadline = deadline or _Deadline(self.timeout)
        value = self._ask({"op": op, "key": _checked_key(key)}, deadline)["value"]
        return None if value is None else base64.b64decode(value)

    def _change(self, request: Dict[str, Any]) -> Dict[str, Any]:
        _checked_key(request["key"])
        return self._ask(request, _Deadline(self.timeout))

    def _ask(self, request: Dict[str, Any], deadline: "_Deadline", grace: float = 0.0) -> Dict[str, Any]:
        """Sends the request and returns its answer. Repeats the request while the scheduler is not reachable."""
        while True:
            link = self._link()
            try:
                limit = None if deadline.limit is None else max(deadline.left(), 0.001) + max(grace, 1.0)
                answer = link.ask(request, limit)
            except socket.timeout:
                self._drop()  # otherwise a late answer would be taken for the answer to the next request
                raise TimeoutError("the scheduler did not answer within %s" % deadline) from None
            except BaseException:
                self._drop()
                raise
            error = answer.get("error")
            if error is None:
                return answer
            if error == "UNAVAILABLE" and request["op"] != "barrier":
                if deadline.is_over():
                    raise TimeoutError(answer["message"])
                time.sleep(min(PAUSE, deadline.left()))
                continue
            raise _error_of(request, error, answer["message"])

    def _link(self) -> _Link:
        link: Optional[_Link] = getattr(self._links, "link", None)
        if link is not None and link.pid != os.getpid():  # it belongs to the parent process
            self._drop()
            link = None
        if link is None:
            link = self._links.link = _Link(self._address)
        return link

    def _drop(self) -> None:
        link: Optional[_Link] = getattr(self._links, "link", None)
        self._links.link = None
        if link is not None:
            link.close()


class _NotYet(TimeoutError):
    """The key was still missing when the time of one request was over."""


class _Deadline:
    def __init__(self, limit: Optional[float]) -> None:
        self.limit = limit
        self._at = None if limit is None else time.monotonic() + limit

    def __str__(self) -> str:
        return "no time limit" if self.limit is None else "%g s" % self.limit

    def left(self) -> float:
        return LONGEST_WAIT if self._at is None else max(0.0, self._at - time.monotonic())

    def is_over(self) -> bool:
        return self._at is not None and time.monotonic() >= self._at


def _error_of(request: Dict[str, Any], error: str, message: str) -> Exception:
    if error == "DEADLINE_EXCEEDED":
        return _NotYet(message) if request["op"] == "wait" else TimeoutError(message)
    if error == "INVALID_ARGUMENT":
        return ValueError(message)
    return (RoundOver if error == "FAILED_PRECONDITION" else StoreError)(message)


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not 1 <= len(key.encode()) <= MAX_KEY_BYTES:
        raise ValueError("a key must be text of 1 to %d bytes" % MAX_KEY_BYTES)
    return key


def _bytes(value: Value) -> bytes:
    if isinstance(value, str):
        return value.encode()
    return bytes(value)


def _text(value: Value) -> str:
    if not isinstance(value, (str, bytes, bytearray, memoryview)):
        raise ValueError("a value must be bytes or text, not %s" % type(value).__name__)
    data = _bytes(value)
    if len(data) > MAX_VALUE_BYTES:
        raise ValueError("a value has %d bytes at most, not %d" % (MAX_VALUE_BYTES, len(data)))
    return base64.b64encode(data).decode()


_lock = threading.Lock()
_stores: List[Store] = []


def store() -> Store:
    """Returns the job's store. All calls in a process return the same object."""
    address = os.environ.get("MUSTER_STORE", "")
    if not address:
        raise StoreError("MUSTER_STORE is not set: only processes that ms-worker starts reach the job's store")
    with _lock:
        if not _stores:
            _stores.append(Store(address))
        return _stores[0]


def barrier(name: str, ranks: Optional[Iterable[int]] = None, timeout: Optional[float] = TIMEOUT) -> None:
    """Returns once all `ranks` (None: all ranks of the job) have called it with this name. A name can be used again.

    Raises

    - TimeoutError if some ranks have not called it within `timeout` seconds (None: no limit); it is raised in all ranks
      that wait, and names the missing ones
    - ValueError if this rank is not among `ranks`, or if another rank gave other `ranks`
    - RoundOver if the job starts again or ends
    """
    store().barrier(name, ranks, timeout)
