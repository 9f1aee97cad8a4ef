"""Hostile and broken clients must not disturb the others at the two ends that speak MindSpore's protocol."""

import functools
import os
import socket
import ssl
import struct
import time

import pytest

import mindspore_client as client
import pki
from mindspore_ends import ENDS, Beats, start_end
from muster import SLOWNESS, WITH_TLS, eventually

BEAT_LIMIT = 0.05
# Delays of a busy machine do not count: see Beats.
SPANS = 5 if os.environ.get("MUSTER_LONG") == "1" else 3

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


@pytest.fixture(params=ENDS)
def plain_end(request, cluster):
    return start_end(request.param, cluster, 1)


@pytest.fixture(params=ENDS)
def secure_end(request, cluster):
    """An end with TLS, which also accepts plain frames from this machine."""
    authority = pki.Authority()
    folder = pki.Folder(cluster.folder / "tls", authority, authority.scheduler(), authority.process())
    return start_end(request.param, cluster, 1, env={"MS_TLS_CONFIG": folder.config})


def connect(end):
    return socket.create_connection((end.host, end.port), 5)


def stalled(end):
    sock = connect(end)
    sock.sendall(client.frame("6", b"x" * 1000)[:500])
    return sock


def huge(end):
    sock = connect(end)
    sock.sendall(b"RPC0" + struct.pack(">4I", 1, 1, 1, 2147479552) + b"x" * 100)
    return sock


def odd_names(end):
    sock = connect(end)
    for name in ("", "x", "-1", "9" * 30):
        sock.sendall(client.frame(name, b"body"))
    return sock


def odd_bodies(end):
    """Bodies that are no protobuf messages, or have text that is not UTF-8."""
    sock = connect(end)
    for number in range(13):
        sock.sendall(client.frame(str(number), b"\xff" * 50) + client.frame(str(number), client.field(1, b"\xff\xfe")))
    return sock


def unread(end):
    """A client that asks and never reads."""
    sock = connect(end)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    request = client.frame("9", b"MS_WORKER") * 200
    try:
        while sock.send(request):
            pass
    except BlockingIOError:
        pass
    return sock


def half_handshake(end):
    sock = connect(end)
    sock.sendall(b"\x16\x03\x01\x00\xff\x01")
    return sock


def garbage_in_tls(end):
    sock = connect(end)
    # Not TLS' major version 3: one record in 256 would be a long one, and the server would wait for its end.
    sock.sendall(b"\x16\xff" + os.urandom(3000))
    return sock


@functools.lru_cache
def client_hello():
    """The beginning of a real client: a server answers with a signature."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    try:
        context.wrap_bio(incoming, outgoing, server_hostname="server").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def hello_and_no_more(end):
    sock = connect(end)
    sock.sendall(client_hello())
    return sock


def reset_in_the_handshake(end):
    for _ in range(20):
        sock = connect(end)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.sendall(client_hello())
        sock.close()
    return connect(end)


def expect_quick_beats(end, attack, count, measured):
    """No heartbeat of a process waits longer than the limit, however many clients attack."""
    with Beats(end) as beats:
        alone, alone_here = beats.slowest(SPANS, seconds=0.2)
        sockets = []
        try:
            for _ in range(count):
                sockets.append(attack(end))
            beside, beside_here = beats.slowest(SPANS)
        finally:
            for sock in sockets:
                sock.close()
    print("slowest heartbeat: alone %.1f ms (on this machine now %.1f), beside %d x %s %.1f ms (%.1f)" % (
        1000 * alone, 1000 * alone_here, count, attack.__name__, 1000 * beside, 1000 * beside_here))
    measured("slowest heartbeat alone", alone, at_most=1)
    measured("slowest heartbeat beside %d x %s" % (count, attack.__name__), beside, at_most=BEAT_LIMIT)
    assert "libprotobuf" not in end.program.output()


@pytest.mark.parametrize("attack,count", [(stalled, 50), (huge, 50), (odd_names, 50), (odd_bodies, 50), (unread, 20),
                                          (half_handshake, 50)], ids=lambda value: getattr(value, "__name__", value))
def test_no_other_client_waits(plain_end, measured, attack, count):
    expect_quick_beats(plain_end, attack, count, measured)


@pytest.mark.parametrize("attack", [half_handshake, garbage_in_tls, hello_and_no_more,
                                    reset_in_the_handshake])
def test_no_other_client_waits_with_tls(secure_end, measured, attack):
    expect_quick_beats(secure_end, attack, 50, measured)


def test_many_connections(cluster, measured):
    """Beyond the limit, silent connections are closed; those that have spoken stay."""
    end = start_end("mindspore_port", cluster, 1)
    with Beats(end) as beats:
        crowd = [connect(end) for _ in range(1000)]
        time.sleep(1)
        late = connect(end)
        late.sendall(client.frame("9", b"MS_WORKER"))
        assert late.recv(4) == b"RPC0"
        beside, _ = beats.slowest(SPANS)
    measured("slowest heartbeat beside 1,000 connections", beside, at_most=BEAT_LIMIT)
    for sock in crowd:
        sock.close()


def expect_closed(sock, timeout):
    """Expects that the other end closes without an answer in TLS or a frame."""
    sock.settimeout(timeout * SLOWNESS)
    try:
        while True:
            data = sock.recv(4096)
            assert b"RPC0" not in data
            if not data:
                return
    except ConnectionError:
        pass
    finally:
        sock.close()


def test_half_messages_are_cut(plain_end):
    expect_closed(stalled(plain_end), 30)
    plain_end.program.expect_said("was not complete within 10s")


def test_a_client_that_does_not_read_is_cut(plain_end):
    sock = unread(plain_end)
    plain_end.program.expect_said("does not read its answers", timeout=30)
    sock.close()


def test_half_handshakes_are_cut(secure_end):
    sockets = [half_handshake(secure_end), hello_and_no_more(secure_end)]
    for sock in sockets:
        expect_closed(sock, 30)
    secure_end.program.expect_said("its TLS handshake took too long")


def test_garbage_in_tls_ends_its_connection_only(secure_end):
    with Beats(secure_end) as beats:
        for _ in range(20):
            expect_closed(garbage_in_tls(secure_end), 5)
        count = len(beats.times)
        eventually(lambda: len(beats.times) > count + 5, 5, "heartbeats go on")
    secure_end.program.expect_said("the TLS handshake failed")
    assert secure_end.program.is_running()
    # They are counted, without a line for each.
    assert secure_end.program.output().count("the TLS handshake failed") <= 3


def test_tls_where_none_is_spoken(plain_end):
    expect_closed(hello_and_no_more(plain_end), 5)
    plain_end.program.expect_said("no --tls_config is set here")
