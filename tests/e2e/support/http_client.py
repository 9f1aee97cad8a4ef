"""Asks the scheduler's HTTP port, correctly or not."""

import http.client
import re
import socket
import ssl

import muster


def port_of(scheduler):
    """The port at which it reports that it listens."""
    return int(scheduler.expect_said(r"health and metrics: https?://\S+:(\d+)/").group(1))


def connect(port, timeout=10):
    return socket.create_connection(("127.0.0.1", port), timeout * muster.SLOWNESS)


def ask(port, path, headers=None, context=None, method="GET", host="127.0.0.1"):
    """Returns (status, headers, text)."""
    kind = http.client.HTTPConnection if context is None else http.client.HTTPSConnection
    options = {} if context is None else {"context": context}
    connection = kind(host, port, timeout=10 * muster.SLOWNESS, **options)
    try:
        connection.request(method, path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def say(port, data, timeout=10):
    """Sends bytes and returns everything that the server sends until it closes the connection."""
    with connect(port, timeout) as client:
        try:
            client.sendall(data)
        except OSError:
            pass  # the server has hung up already
        out = b""
        try:
            while piece := client.recv(65536):
                out += piece
        except ConnectionResetError:
            pass
        return out


def status_of(answer):
    found = re.match(rb"HTTP/1.1 (\d+) ", answer)
    return int(found.group(1)) if found else None


def metrics(port, **options):
    """Returns {name with labels: value}."""
    status, _, text = ask(port, "/metrics", **options)
    assert status == 200, text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


def tls_context(folder, with_client=True):
    context = ssl.create_default_context(cafile=str(folder.path / "ca.pem"))
    context.check_hostname = False
    if with_client:
        context.load_cert_chain(str(folder.path / "client.pem"))
    return context
