"""One connection of an attacker: plain, or TLS 1.3 with a node's certificate. It reads the server's bytes and drops
them."""

import json
import pathlib
import select
import socket
import ssl
import time

import frames

PATIENCE = 10  # seconds for a connect and a handshake
WRITE = 256 * 1024  # bytes written at a time


class Over(Exception):
    """The attack's time is over."""


class Cut(Exception):
    """The server has closed the connection."""


def tls_context(folder):
    """Reads a folder with tls.json, as `ms-ctl certs` writes it."""
    folder = pathlib.Path(folder)
    names = json.loads((folder / "tls.json").read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(folder / names["ca_cert_path"])
    context.load_cert_chain(folder / names["client_cert_path"])
    context.set_alpn_protocols(["h2"])
    return context


class Target:
    """The server's address, our own address, the TLS certificate, and the end of the attack."""

    def __init__(self, host, port, source, tls_folder, until):
        self.host, self.port, self.source, self.until = host, port, source, until
        self.tls_folder = tls_folder
        self.context = tls_context(tls_folder) if tls_folder else None

    @property
    def is_tls(self):
        return self.context is not None

    def time_left(self):
        return self.until - time.monotonic()

    def dial(self):
        """Opens a TCP connection."""
        if self.time_left() <= 0:
            raise Over
        return socket.create_connection((self.host, self.port), PATIENCE, (self.source, 0))


class Connection:
    """Use as a context. Every method ends with Over or Cut; `sent` and `received` count bytes."""

    def __init__(self, target, socket_options=()):
        self.target, self.is_tls, self.sent, self.received = target, target.is_tls, 0, 0
        self.is_read = True  # False: the server's bytes stay in the kernel's buffers
        self.on_received = lambda received: None
        plain = target.dial()
        try:
            for option in socket_options:
                plain.setsockopt(*option)
            self.socket = plain
            if target.is_tls:
                self.socket = target.context.wrap_socket(plain, server_hostname=target.host)
            self.socket.setblocking(False)
        except BaseException:
            plain.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def greet(self, *entries, is_acknowledging=True):
        """Sends the preface with these settings, and acknowledges the server's."""
        acknowledgement = frames.frame(frames.SETTINGS, frames.ACK) if is_acknowledging else b""
        self.send(frames.PREFACE + frames.settings(*entries) + acknowledgement)

    def send(self, payload):
        view = memoryview(payload)
        while view:
            self.check_time()
            count = self._try(lambda: self.socket.send(view[:WRITE]))
            if count is None:
                self._wait(is_writing=True)
            else:
                self.sent += count
                view = view[count:]
            self.drain()

    def flood(self, payload):
        """Sends the same bytes again and again, in large writes."""
        payload *= max(1, WRITE // len(payload))
        while True:
            self.send(payload)

    def stream(self, pieces):
        """Sends all that an iterator yields."""
        for piece in pieces:
            self.send(piece)

    def hold(self, seconds=float("inf")):
        """Sends nothing for this time."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.check_time()
            self._wait(timeout=min(0.2, max(0, until - time.monotonic())))
            self.drain()

    def await_bytes(self):
        """Waits until something has come, or might have."""
        self.check_time()
        self._wait()
        self.drain()

    def drain(self):
        while self.is_read:
            got = self._try(lambda: self.socket.recv(65536))
            if got is None:
                return
            if not got:
                raise Cut
            self.received += len(got)
            self.on_received(got)

    def check_time(self):
        if self.target.time_left() <= 0:
            raise Over

    def _try(self, call):
        """Returns the result of the call; None if it would have to wait."""
        try:
            return call()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except OSError as error:
            raise Cut from error

    def _wait(self, is_writing=False, timeout=0.2):
        self.check_time()
        reading = [self.socket] if self.is_read else []
        select.select(reading, [self.socket] if is_writing else [], [], timeout)
