"""A stand-in for HCCL without a rank table, as its guide describes it.

The process with the chief's address and device listens at CM_CHIEF_IP:CM_CHIEF_PORT. Every process, including the
chief's, reports its server (CM_WORKER_IP) and device there. Once CM_WORKER_SIZE have done so, the chief assigns ranks,
its own server first, and sends all of them the same set. Each process prints what it received.
"""

import json
import os
import socket
import threading
import time

# Variables that the guide forbids together with CM_*.
FORBIDDEN = ["RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE", "DEVICE_ID"]


def collect(chief, size, listener):
    """The chief's part: receives all reports, then answers all."""
    connections, reports = [], []
    while len(reports) < size:
        connection, peer = listener.accept()
        report = json.loads(connection.makefile().readline())
        assert report not in reports, "%s has reported twice" % report
        connections.append(connection)
        reports.append(report)
    reports.sort(key=lambda each: (each["server"] != chief[0], socket.inet_aton(each["server"]), int(each["device"])))
    answer = json.dumps([dict(each, rank=rank) for rank, each in enumerate(reports)]) + "\n"
    for connection in connections:
        connection.sendall(answer.encode())
        connection.close()


def main():
    found = [name for name in FORBIDDEN if name in os.environ]
    assert not found, "HCCL refuses %s beside CM_*" % found
    chief = os.environ["CM_CHIEF_IP"], int(os.environ["CM_CHIEF_PORT"])
    own = {"server": os.environ["CM_WORKER_IP"], "device": os.environ["ASCEND_DEVICE_ID"]}
    if (own["server"], own["device"]) == (chief[0], os.environ["CM_CHIEF_DEVICE"]):
        listener = socket.create_server(chief, backlog=64)
        threading.Thread(target=collect, args=(chief, int(os.environ["CM_WORKER_SIZE"]), listener)).start()
    deadline = time.monotonic() + int(os.environ["HCCL_CONNECT_TIMEOUT"])
    while True:  # the chief may start later
        try:
            connection = socket.create_connection(chief, timeout=30, source_address=(own["server"], 0))
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline, "no chief at %s:%d" % chief
            time.sleep(0.02)
    connection.sendall((json.dumps(own) + "\n").encode())
    print("told " + connection.makefile().readline().strip(), flush=True)


main()
