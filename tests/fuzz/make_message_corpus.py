"""Makes the corpora of messages, records, journals, settings and cluster files.

    /usr/bin/python3 tests/fuzz/make_message_corpus.py [FOLDER]

Needs protoc. The inputs are the same each time. FOLDER: tests/fuzz/corpus by default."""

import hashlib
import json
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "corpus"
PROTO = HERE.parents[1] / "proto"


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def encode(message, text):
    done = subprocess.run(["protoc", "-I", PROTO, "--encode=muster.v1." + message, "muster/v1/journal.proto",
                           "muster/v1/rendezvous.proto", "muster/v1/admin.proto"], input=text.encode(),
                          stdout=subprocess.PIPE, check=True)
    return done.stdout


def counted(data):
    return struct.pack(">H", len(data)) + data


def step(what, who=0, data=b""):
    return bytes([what << 4 | who]) + data


def say(who, text):
    return step(0, who, counted(encode("AgentMessage", text)))


def ask(which, message, text):
    return step(10, which, counted(encode(message, text)))


def wait(ms):
    return step(11, 10, struct.pack(">H", ms >> 10))


CRASH, CRASH_WITH_SNAPSHOT, TICK = step(13, 1), step(13, 0), step(10, 15, counted(b""))


def join(who, node, more="", slots=1, seq=1, info="", incarnation=None):
    return say(who, """join { protocol_version: 2 job_id: "j" node_id: "%s" incarnation: %d connect_seq: %d %s
        node { role: ROLE_WORKER host_name: "h" machine_id: "m%s" address: "10.0.0.2" %s %s } }""" % (
            node, incarnation or who + 7, seq, more, node, "slots { ring_port: 4000 }" * slots, info))


def report(who, events="", more=""):
    return say(who, "report { heartbeat_seq: 1 %s %s }" % (events, more))


def started(number, slot=0, round_=1):
    return "events { number: %d started { round: %d slot: %d pid: 9 } }" % (number, round_, slot)


def ended(number, slot=0, more="", round_=1):
    return "events { number: %d ended { round: %d slot: %d %s } }" % (number, round_, slot, more)


def session_messages():
    two = "settings { worker_num: 2 }"
    recovering = "settings { worker_num: 2 enable_recovery: true max_restarts: 5 }"
    formed = join(0, "0", two) + join(1, "1", two) + report(0, started(1)) + report(1, started(1))
    healing = join(0, "0", recovering) + join(1, "1", recovering) + report(0, started(1)) + report(1, started(1))
    last_report = step(9, 0, counted(encode("LastReportRequest",
                                            'job_id: "j" run: 1 node_id: "0" incarnation: 7 signal: 9')))
    inputs = {
        "succeeds": formed + report(0, started(1) + ended(2), "is_settled: true") +
        report(1, started(1) + ended(2), "is_settled: true") + CRASH,
        "fails": formed + report(0, started(1) + ended(2, more='exit_code: 3 last_lines: "oh" error_message: "no"')) +
        wait(20000) + CRASH_WITH_SNAPSHOT,
        "restarts": healing + report(0, started(1) + ended(2, more="signal: 9")) + wait(4000) +
        report(1, started(1) + ended(2, more="was_stopped: true signal: 15")) + CRASH + wait(4000),
        "dies": healing + step(8, 0) + last_report + wait(30000) + join(2, "0", recovering + " run: 1"),
        "falls_silent": formed + wait(60000) + CRASH,
        "many_slots": join(0, "a", "settings { worker_num: 6 server_num: 1 }", 4) + join(1, "b", slots=2) +
        join(2, "s", info="spare: true") + say(3, """join { protocol_version: 2 job_id: "j" incarnation: 99 connect_seq: 1
            node { role: ROLE_SERVER machine_id: "m" slots { } } }"""),
        "spare": join(0, "a", recovering) + join(1, "b", recovering) + join(2, "c", recovering, info="spare: true") +
        step(8, 0) + wait(140000) + wait(140000) + wait(140000),
        "comes_back": formed + step(8, 0) + join(2, "0", "run: 1 cluster_id: 'fuzz' term: 1", seq=2, incarnation=7) + TICK,
        "challenged": formed + join(2, "0", two, incarnation=70) + say(0, "probe_answer { probe: 1 }") + wait(3000),
        "table": join(0, "x", two, info="table_ranks: 1 table_ranks: 0", slots=2) + join(1, "", two, info="node_rank: 3"),
        "progress": join(0, "0", "settings { worker_num: 1 progress_timeout_ms: 4000 }") +
        report(0, started(1), "progress_round: 1 progress { slot: 0 step: 5 since_progress_ms: 10 }") + wait(3000) +
        report(0, started(1), "progress_round: 1 progress { slot: 0 step: 5 since_progress_ms: 9000 }") + wait(8000) +
        say(0, 'stack_traces { query: 1 stacks { slot: 0 method: "py-spy" text: "here" } }') + wait(8000),
        "asked": formed + ask(0, "StatusRequest", "") + ask(1, "NodesRequest", 'job_id: "j" limit: 3') +
        ask(2, "RanksRequest", 'job_id: "j" offset: 1') + ask(3, "EventsRequest", 'job_id: "j" limit: 9') +
        ask(6, "StacksRequest", 'job_id: "j" ranks: 1') +
        say(1, 'stack_traces { query: 1 stacks { slot: 0 method: "kernel" text: "here" } }') +
        ask(5, "SteerRequest", 'job_id: "j" action: RESTART') + ask(5, "SteerRequest", 'job_id: "j" action: DRAIN node_id: "1"') +
        ask(5, "SteerRequest", 'job_id: "j" action: FENCE node_id: "1"') + ask(4, "StopRequest", 'job_id: "j" reason: "r"') +
        wait(40000),
        "drained": formed + step(14, 1) + TICK + join(5, "9"),
        "late": formed + step(12, 0, b"\xff\xff") + wait(16000) + wait(16000),
        "not_protobuf": step(0, 0, counted(b"\xff\xff\xff\xff")) + step(0, 1, counted(b"")),
    }
    for name, data in inputs.items():
        put("session_messages", name, data)


def octets(data):
    return "".join("\\%03o" % byte for byte in data)


def records():
    """The texts of the records of a small job that loses a node, restarts and ends."""
    info = 'role: ROLE_WORKER host_name: "h" machine_id: "m" address: "10.0.0.2" slots { ring_port: 4000 }'
    peers = encode("PeerList", """job_id: "j" run: 1 round: 1 worker_num: 2
        nodes { node_id: "0" role: ROLE_WORKER ring_ports: 1 } nodes { node_id: "1" role: ROLE_WORKER ring_ports: 1 first_rank: 1 }""")
    of = 'job_id: "j" run: 1'
    closed = 'round_closed { %s round: %%d peer_list: "%s" digest: "%s" master_address: "10.0.0.2" master_port: 4001 }' % (
        of, octets(peers), octets(hashlib.sha256(peers).digest()))
    cause = 'kind: PROCESS_EXITED text: "rank 0 died" rank: 0 exit_code: 1'
    joined = ['node_joined { %s node_id: "%d" incarnation: %d info { %s } settings { worker_num: 2 enable_recovery: true } }' %
              (of, node, node + 7, info) for node in (0, 1)]
    return ['cluster_founded { cluster_id: "c" }', "term_begun { term: 1 }",
            'run_opened { %s settings { worker_num: 2 } opened_by: "u@h" }' % of, *joined, closed % 1,
            'node_reported { %s node_id: "0" incarnation: 7 armed_fence_ms: 1000 %s }' % (of, started(1) + ended(2, more="exit_code: 1")),
            "round_aborted { %s round: 1 first { %s } recent_restarts: 1 highest_step: 4 }" % (of, cause),
            'node_lost { %s node_id: "1" incarnation: 8 why: LOST reason: "r" armed_fence_ms: 9 }' % of,
            'incarnation_gone { %s node_id: "1" incarnation: 8 }' % of,
            'node_returned { %s node_id: "1" incarnation: 8 }' % of,
            'node_draining { %s node_id: "1" incarnation: 8 is_draining: true reason: "r" }' % of,
            'node_recertified { %s node_id: "1" incarnation: 8 certificate_fingerprint: "ab" }' % of, closed % 2,
            'slot_restarted { %s node_id: "0" slot: 0 attempt: 1 cause { %s } recent_restarts: 2 }' % (of, cause),
            "run_failing { %s first { %s } }" % (of, cause),
            "run_ended { %s outcome { cause { %s } } lasted_ms: 5 }" % (of, cause),
            'node_removed { %s node_id: "1" incarnation: 8 why: LEFT }' % of, 'run_forgotten { %s }' % of]


def snapshot():
    return """snapshot { cluster_id: "c" term: 3 last_event_number: 4 lowest_last_run: 2 forgotten_jobs { job_id: "f" last_run: 1 }
        events { number: 4 } jobs { job_id: "j" last_run: 1 runs { number: 1 phase: RUN_PHASE_FORMING settings { worker_num: 2 }
        nodes { joined { node_id: "0" incarnation: 7 info { role: ROLE_WORKER slots { } } } slots { phase: 1 } }
        gone { node_id: "g" incarnation: 3 } removed { incarnation: 3 is_dead: true } } } }"""


def journals():
    texts = records()
    encoded = [encode("Record", "unix_ms: 1 " + text) for text in texts]
    for count in (2, 4, 6, 8, 10, 14, 16, len(encoded)):
        put("journal_records", "first-%02d" % count, b"".join(counted(data) for data in encoded[:count]))
    summed = encode("Record", snapshot())
    put("journal_records", "snapshot", counted(summed) + counted(encoded[1]))
    put("journal_records", "backwards", b"".join(counted(data) for data in reversed(encoded)))

    with tempfile.TemporaryDirectory() as folder:
        for name, rows, of in (("empty", [], None), ("records", encoded[:4], None), ("snapshot", encoded[:2], summed)):
            for is_closed in (True, False):
                path = pathlib.Path(folder) / ("%s-%d.db" % (name, is_closed))
                put("journal_file", name + ("" if is_closed else "-with-log"), database(path, rows, of, is_closed))
    put("journal_file", "nothing", counted(b"") * 2)
    put("journal_file", "text", counted(b"") * 2 + b"SQLite format 3\0 but not at all")


def checksum(sequence, body):
    return struct.unpack(">q", hashlib.sha256(struct.pack(">Q", sequence) + body).digest()[:8])[0]


def database(path, rows, snapshot_body, is_closed):
    """The database as ms-scheduler writes it, but with small pages. If not closed, the last rows are in the write-ahead
    log."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA page_size=512")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA wal_autocheckpoint=0")
    db.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
    for table, key in (("records", "sequence"), ("snapshots", "through")):
        db.execute("CREATE TABLE %s(%s INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, body BLOB NOT NULL)" % (table, key))
    db.execute("INSERT INTO meta VALUES('format', '3'), ('id', '0123456789abcdef')")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    last = 0
    if snapshot_body is not None:
        last = 5
        db.execute("INSERT INTO snapshots VALUES(?, ?, ?)", (last, checksum(last, snapshot_body), snapshot_body))
    for body in rows:
        last += 1
        db.execute("INSERT INTO records VALUES(?, ?, ?)", (last, checksum(last, body), body))
    log = b""
    copy = path
    if is_closed:
        db.close()
    else:
        copy = shutil.copy(path, str(path) + ".copy")
        log = pathlib.Path(str(path) + "-wal").read_bytes()
        db.close()
    journal_id = b"0123456789abcdef"
    note = b"%s %020d %016x\npid 1 on h\n" % (journal_id, last, checksum(last, journal_id) & (1 << 64) - 1)
    return counted(note if last else b"") + counted(log) + pathlib.Path(copy).read_bytes()


def settings():
    def lines(*words):
        return "\n".join(words)
    inputs = {
        "plain": (lines("--worker_num", "8", "--local_worker_num=4", "train"), lines("MS_WORKER_NUM=16", "MS_SCHED_PORT=8118"), ""),
        "mindspore": ("", lines("MS_ROLE=MS_SCHED", "MS_SCHED_HOST=::1", "MS_NODE_ID=3", "MS_ENABLE_RECOVERY=1", "MS_TOPO_TIMEOUT=-1",
                                "MS_HCCL_CM_INIT=yes", "MS_WORKER_NUN=4", "MS_RECEIVE_MSG_TIMEOUT=15"), ""),
        "file": ("", "", "worker_num = 8 # all\nMS_SCHED_HOST='node1'\n\nlabel=rack=1\nlabel=\"host=2\"\nwrong\nworker_num=9\n"),
        "times": (lines("--node_timeout=500ms", "--heartbeat-interval", "1.5", "--fence_timeout=2h", "--stop_timeout=1e9",
                        "--rejoin_timeout=-1", "--topo_timeout=5m"), "", "disconnect_grace=10s"),
        "ranges": (lines("--port_range=40000-40100", "--bind_core=0:0-3,7;1:4", "--tail=0,3-5", "--stop_signal=SIGUSR1",
                         "--env=A=B", "--label=a=b", "--local_worker_num=auto", "--", "python"), "MASTER_PORT=1", ""),
        "refused": (lines("--nnodes=2", "--master_addr=x", "--rdzv_backend", "c10d", "--no_such"), "", "rdzv_endpoint=a:1"),
        "ring": (lines("--bytes=4", "--slow_factor=0", "--json", "--rank=1"), lines("MS_CLUSTER_FILE=/x", "RANK=2"), ""),
        "secure": (lines("--tls_config=/x", "--require_tls", "no", "--tls_identity=ca-only", "--crl_expired=serve"), "MS_REQUIRE_TLS=1", ""),
        "help": (lines("-h", "--version", "--check_config", "--preflight=ring", "--with_scheduler", "--listen_address=0.0.0.0"), "", ""),
    }
    for name, parts in inputs.items():
        put("settings", name, "\0".join(parts))


def cluster_files():
    def peer(rank, **more):
        return {"rank": rank, "role": "worker", "node_id": "n%d" % rank, "node_rank": rank, "host": "h", "address": "10.0.0.%d" % rank,
                "local_rank": 0, "ring_port": 4000, "device_id": "0", "device_address": "", "certificate_fingerprint": "", **more}

    def file(peers, **more):
        return json.dumps({"schema": "muster.cluster/1", "job_id": "j", "run": 1, "round": 1, "restart_count": 0, "role": "worker",
                           "world_size": 2, "server_num": 0, "nnodes": 2, "node_id": "n0", "node_rank": 0,
                           "local_ranks": [{"rank": 0, "local_rank": 0, "device_id": "0"}],
                           "master": {"address": "10.0.0.1", "port": 1}, "peers": peers, "peers_complete": True, **more})
    ab = "ab" * 32
    put("cluster_file", "plain", file([peer(0), peer(1)]))
    put("cluster_file", "secure", file([peer(0, certificate_fingerprint=ab), peer(1, certificate_fingerprint=ab)]))
    put("cluster_file", "mixed", file([peer(0, certificate_fingerprint=ab), peer(1)]))
    put("cluster_file", "alone", file([peer(0, address="::1")], world_size=1))
    put("cluster_file", "twice", file([peer(0), peer(0)]))
    put("cluster_file", "servers", file([peer(0), peer(1), peer(0, role="server", ring_port=0)], local_ranks=[{"rank": 0}, {"rank": 1}]))
    put("cluster_file", "large", file([], world_size=4_000_000_000, peers_complete=False))
    put("cluster_file", "wrong", file([{**peer(0), "rank": -1}, peer(1, ring_port=1e300)], local_ranks={"rank": 0}))
    put("cluster_file", "deep", "[" * 2000)


session_messages()
journals()
settings()
cluster_files()
