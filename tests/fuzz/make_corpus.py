"""Makes the corpora again, and authority.h with them: /usr/bin/python3 tests/fuzz/make_corpus.py. Needs the program openssl
and python3-cryptography. The inputs in the tree are from one run; fuzzing finds more."""

import datetime
import pathlib
import struct
import subprocess
import sys
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

HERE = pathlib.Path(__file__).resolve().parent
BEGIN, END = datetime.datetime(2026, 1, 1), datetime.datetime(2056, 1, 1)
PASSWORD = "zQ7-kV4-wX9"  # of pkcs12.cc: occurs in no message
DER, PEM = serialization.Encoding.DER, serialization.Encoding.PEM


def put(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def certificate(key, names, issuer_key=None, is_ca=False):
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fuzz")])
    builder = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
               .serial_number(1000).not_valid_before(BEGIN).not_valid_after(END)
               .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key or key, hashes.SHA256())


def frame_guard():
    """HTTP/2 of an honest client, and the beginnings of floods. The first byte is the size of the pieces
    (frame_guard.cc)."""
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
    begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, bytes(12))
    headers = frame(1, 4, 1, bytes(20))
    inputs = {
        "call": headers + frame(0, 0, 1, bytes(300)) + frame(0, 1, 1, b"") + frame(8, 0, 0, bytes(4)),
        "block": frame(1, 0, 1, bytes(20)) + frame(9, 0, 1, bytes(100)) * 20,
        "resets": b"".join(frame(1, 4, i, b"a") + frame(3, 0, i, bytes(4)) for i in range(1, 1201, 2)),
        "pings": frame(6, 0, 0, bytes(8)) * 120,
        "settings": frame(4, 0, 0, bytes(6)) * 120,
        "unknown": frame(77, 0, 0, b"abc") * 60,
        "push": frame(5, 4, 1, bytes(8)),
    }
    for name, data in inputs.items():
        for part in (0, 1, 10):
            put("frame_guard", "%s-%d" % (name, part), bytes([part]) + begin + data)


def jax_requests():
    """Requests of JAX's processes, as jax_requests.cc reads them: the kind, and a text with its length."""
    def number(field, value):
        return bytes([field << 3, value])

    def text(field, value):
        return bytes([field << 3 | 2, len(value)]) + value

    def fixed(field, value):
        return bytes([field << 3 | 1]) + struct.pack("<Q", value)

    def step(method, message, is_new=True, is_second=False):  # (17 methods; from 128 on: the second agent's)
        return bytes([(method + 68 * is_second) * 2 + is_new]) + struct.pack(">H", len(message)) + message
    register, beat, poll, shutdown, insert, get, try_get, add, listing, delete, barrier, cancel, alive, states, watch = (
        0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)

    def task(value):
        return text(1, text(1, b"jax_worker") + number(2, value))
    new_registers = [step(register, fixed(3, 100 + i) + number(5, i)) for i in (0, 1)]
    inputs = {
        "register-new": b"".join(new_registers) + step(beat, fixed(2, 100) + number(3, 0)) + step(poll, number(2, 0)),
        "register-old": b"".join(step(register, fixed(3, 1) + text(5, number(2, i)), False) for i in (0, 1)),
        "values": step(insert, text(2, text(1, b"a/b") + text(2, b"v"))) + step(get, text(2, b"a/b")) +
        step(try_get, text(2, b"a")) + step(listing, text(2, b"a")) + step(add, text(2, b"n") + number(3, 2)) +
        step(delete, text(2, b"a")) + step(get, text(2, b"later")) + bytes([251, 6]),
        "barrier-new": step(barrier, text(2, b"b") + number(3, 100) + text(4, bytes([0, 1])) + number(5, 0)) +
        step(barrier, text(2, b"b") + text(4, bytes([0, 1])) + number(5, 1)) + bytes([250, 8, 0]) +
        step(barrier, text(2, b"b") + text(4, bytes([0, 1])) + number(5, 1) + number(6, 1)) +
        step(cancel, text(2, b"b") + number(3, 1)),
        "barrier-old": step(barrier, text(1, b"b") + number(2, 50) + text(4, number(2, 1)), False) + bytes([250, 0, 60]),
        "alive": step(alive, number(2, 0) + text(3, bytes([0, 1]))) + step(alive, number(2, 1) + text(3, bytes([0, 1]))),
        "states": b"".join(new_registers) + step(register, fixed(3, 102) + number(5, 2), is_second=True) +
        step(states, task(1), False) + step(watch, number(2, 0)) + step(watch, number(2, 1)) + step(watch, b"", False),
        "shutdown": step(shutdown, task(0), False) + bytes([252, 1, 252, 2]) + step(shutdown, number(2, 1)),
    }
    for name, data in inputs.items():
        put("jax_requests", name, data)


def mindspore_frames():
    """Messages of processes, complete and cut. The first byte chooses the receiver and the pieces
    (mindspore_frames.cc)."""
    sys.path.insert(0, str(HERE.parent / "e2e" / "support"))
    from mindspore_client import field, frame
    ident = lambda node, role="MS_WORKER": (field(1, node) + field(2, "host") + field(3, role) + field(4, "10.0.0.1") +
                                            field(5, 2**32 - 1))
    pair = lambda name, value="": field(1, name) + field(2, value)
    whole = [frame("0", ident(node)) for node in ("0", "1", "01", "name", "")]
    whole += [frame("0", ident("0", "MS_PSERVER")), frame("2", field(1, "0")), frame("9", "MS_WORKER")]
    whole += [frame("6", pair("key", "1")), frame("7", pair("key")), frame("12", pair("key", "2")),
              frame("10", pair("key", "x")), frame("8", pair("key")), frame("7", pair("node_port_range")),
              frame("7", pair("MS_WORKER0")), frame("7", pair("MCCL_COLLECTIVE_RANK_MS_WORKER_0"))]
    whole += [frame("1", field(1, "0")), frame("", b"x"), frame("-1"), frame("x" * 1024)]
    for number, first in enumerate((0, 1, 2, 3, 254, 255)):
        put("mindspore_frames", "life-%d" % number, bytes([first]) + b"".join(whole))
    for number, one in enumerate(whole):
        put("mindspore_frames", "one-%d" % number, b"\xff" + one)
    put("mindspore_frames", "huge", b"\xffRPC0" + struct.pack(">4I", 1, 1, 1, 2147479552))
    put("mindspore_frames", "long-name", b"\xffRPC0" + struct.pack(">4I", 1025, 0, 0, 0))
    put("mindspore_frames", "garbage", b"\xffGET / HTTP/1.1\r\n\r\n")
    put("mindspore_frames", "half", b"\xff" + frame("6", b"x" * 100)[:60])


def torch_store():
    """Requests of both versions, in pieces of up to 85 bytes, each after a byte (torch_store.cc)."""
    text = lambda words: struct.pack("<Q", len(words)) + words.encode()
    texts = lambda *words: b"".join(text(each) for each in words)
    counted = lambda *words: struct.pack("<Q", len(words)) + texts(*words)
    number = lambda value: struct.pack("<q", value)
    hello = b"\0" + struct.pack("<I", 0x3C85F7CE)
    fields = [texts("/a", "1"), texts("/a", "1", "2"), text("/a"), text("/n") + number(2), counted("/a", "/b"),
              counted("/a", "/c"), b"", text("/a"), texts("/a", "x"), counted("/a", "/b"), struct.pack("<Q", 2) +
              texts("/a", "1", "/b", "2"), b"", struct.pack("<I", 7), texts("/q", "1"), text("/q"), text("/q"), b"",
              text("/bar") + number(2)]
    new = [bytes([query + 1]) + each for query, each in enumerate(fields)]
    old = [bytes([query]) + each for query, each in enumerate(fields[:8])]

    def pieces(client, data, size=85):
        return b"".join(bytes([(len(data[at:at + size]) - 1) * 3 + client]) + data[at:at + size]
                        for at in range(0, len(data), size))

    both = pieces(0, hello + b"".join(new)) + pieces(1, hello + b"".join(reversed(new))) + pieces(2, b"".join(old))
    put("torch_store", "all", both)
    put("torch_store", "single-bytes", pieces(0, hello + b"".join(new), 1))
    put("torch_store", "old", pieces(0, b"".join(old), 7))
    for query, one in enumerate(new):
        put("torch_store", "query-%d" % (query + 1), pieces(0, hello + one) + pieces(1, hello + new[0] + one, 5))
    waits = hello + new[5] * 40
    put("torch_store", "waits", pieces(0, waits) + pieces(1, waits) + pieces(2, hello + new[0] + new[10]))
    put("torch_store", "full", pieces(0, hello + (b"\x09" + texts("/a", "x" * 4000)) * 20))
    put("torch_store", "huge", pieces(0, hello + b"\x03" + struct.pack("<Q", 2**63)))
    put("torch_store", "garbage", pieces(0, b"GET / HTTP/1.1\r\n\r\n"))


def torch_link():
    """A hello, then records of frames with requests. The first byte of each piece is its length (torch_link.cc)."""
    text = lambda words: struct.pack("<Q", len(words)) + words.encode()
    record = lambda data, received=0: struct.pack("<QI", received, len(data)) + data
    frame = lambda kind, client, number, data=b"": struct.pack("<BII", kind, client, number) + data
    data = lambda client, what: frame(2, client, len(what), what)
    start = b"MUSTRLNK\x01\x01" + b"s" * 16 + struct.pack("<QIQ", 1, 1, 0) + b"\x03job\x04node"
    hello = b"\0" + struct.pack("<I", 0x3C85F7CE)
    wait, write, read = b"\x06" + struct.pack("<Q", 1) + text("/a"), b"\x01" + text("/a") + text("1"), b"\x03" + text("/a")
    both = frame(1, 1, 0) + frame(1, 2, 0) + data(1, hello + wait) + data(2, hello + write) + data(1, read) + frame(3, 1, 0)
    put("torch_link", "two-clients", start + record(both))
    put("torch_link", "records", start + b"".join(record(both[at:at + 9]) for at in range(0, len(both), 9)))
    put("torch_link", "many", start + record(b"".join(frame(1, each, 0) for each in range(1, 20))))
    put("torch_link", "large", start + record(frame(1, 1, 0) + data(1, hello + b"\x01" + text("/a") + text("x" * 60000)) +
                                              data(1, read * 10)))
    put("torch_link", "credit", start + record(frame(1, 1, 0) + frame(4, 1, 1 << 20)))
    put("torch_link", "not-open", start + record(data(3, b"x")))
    put("torch_link", "confirms-too-much", start + record(b"", 1 << 40))
    put("torch_link", "garbage", start + b"\xff" * 64)
    put("torch_link", "no-hello", b"GET / HTTP/1.1\r\n\r\n")


def torchft_replicas():
    """Heartbeats and calls of torchft's replicas at two agents, as torchft_replicas.cc reads them."""
    beat, ask, give_up, ended, later, lose, restart = (2 * what for what in range(7))

    def text(data):
        return struct.pack(">H", len(data)) + data

    def said(number, data):
        return bytes([number << 3 | 2, len(data)]) + data

    def beats(agent, name):
        return bytes([beat + agent, 0]) + text(said(1, name))

    def asks(agent, name, rest=b""):
        return bytes([ask + agent, 0]) + text(said(1, said(1, name) + rest))
    both = asks(0, b"a") + asks(1, b"b")
    inputs = {
        "two-meet": both * 3,
        "one-waits": beats(1, b"b") + asks(0, b"a") + bytes([later, 0xf0, 0]) * 2,
        "shrinks": both + asks(0, b"a", b"\x30\x01") + asks(1, b"c") + asks(1, b"b"),
        "failures": both + asks(0, b"a", b"\x40\x01") + asks(1, b"b"),
        "ends": both + bytes([ended, 0]) + asks(1, b"b"),
        "given-up": asks(0, b"a") + bytes([give_up, 1]) + asks(1, b"b"),
        "lost": both + bytes([lose]) + both,
        "restart": both + bytes([restart, later, 0, 250]) + both + bytes([restart]) + asks(0, b"a"),
        "garbage": bytes([ask, 0]) + text(b"\xff" * 9) + bytes([beat, 0]) + text(b"\x0a"),
    }
    for name, data in inputs.items():
        put("torchft_replicas", name, data)


def main():
    frame_guard()
    torchft_replicas()
    torch_link()
    jax_requests()
    mindspore_frames()
    torch_store()
    key = ec.generate_private_key(ec.SECP256R1())
    authority = certificate(key, [], is_ca=True)
    text = authority.public_bytes(PEM).decode()
    (HERE / "authority.h").write_text(
        "// Made by make_corpus.py.\n#pragma once\n\nnamespace muster {\n\n"
        "inline constexpr char kFuzzAuthority[] = R\"(%s)\";\n\n}  // namespace muster\n" % text)

    for count in (0, 1, 30):
        builder = x509.CertificateRevocationListBuilder().issuer_name(authority.subject).last_update(BEGIN).next_update(END)
        for serial in range(count):
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder().serial_number(1000 + serial).revocation_date(BEGIN).build())
        crl = builder.sign(key, hashes.SHA256())
        put("revocation_list", "list-%d.pem" % count, crl.public_bytes(PEM))
        put("revocation_list", "list-%d.der" % count, crl.public_bytes(DER))
    put("revocation_list", "certificate.pem", authority.public_bytes(PEM))
    put("revocation_list", "empty", b"")

    uris = ["spiffe://d/muster/j/node/a", "spiffe://d.e-f_g/muster/*/node/*", "spiffe://d/muster/*/host/h1/*",
            "spiffe://d/muster/*/scheduler", "spiffe://d/muster/j/admin", "https://d/muster/j/node/a",
            "spiffe://d/muster/j/node/" + "x" * 128, "spiffe://d/muster/j/node/a\0b"]
    for i, uri in enumerate(uris):
        put("certificate_identity", "uri-%d" % i, uri)
    u, d = x509.UniformResourceIdentifier, x509.DNSName
    for i, names in enumerate([[], [u(uris[0])], [u(uris[0]), u(uris[1])], [d("localhost"), u(uris[3])], [d("x")]]):
        put("certificate_identity", "certificate-%d.der" % i, certificate(key, names).public_bytes(DER))

    leaf = certificate(key, [u(uris[0])])
    pem_key = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    lock = serialization.BestAvailableEncryption(PASSWORD.encode())
    locked = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, lock)
    put("pkcs12", "pair.pem", leaf.public_bytes(PEM) + pem_key)
    put("pkcs12", "locked.pem", leaf.public_bytes(PEM) + locked)
    put("pkcs12", "open.p12", pkcs12.serialize_key_and_certificates(None, key, leaf, None, serialization.NoEncryption()))
    put("pkcs12", "chain.p12", pkcs12.serialize_key_and_certificates(b"n", key, leaf, [authority],
                                                                     serialization.NoEncryption()))
    with tempfile.TemporaryDirectory() as folder:
        pem = pathlib.Path(folder) / "pair.pem"
        pem.write_bytes(leaf.public_bytes(PEM) + pem_key)
        for name, words in (("aes.p12", ["-iter", "10"]), ("nomac.p12", ["-nomac", "-iter", "10"]),
                            ("rc2.p12", ["-legacy", "-certpbe", "PBE-SHA1-RC2-40", "-iter", "10"])):
            made = pathlib.Path(folder) / name
            subprocess.run(["openssl", "pkcs12", "-export", *words, "-passout", "pass:" + PASSWORD, "-in", pem, "-out", made],
                           check=True, stderr=subprocess.DEVNULL)
            put("pkcs12", name, made.read_bytes())

    put("tls_config", "document.json", '{"server_cert_path": "server.p12", "crl_path": "", "client_cert_path": '
        '"client.p12", "ca_cert_path": "ca.crt", "cipher_list": "ECDHE-R SA-AES128-GCM-SHA256:'
        'ECDHE-ECDSA-AES128-GCM-SHA256:DHE-PSK-AES128-CCM", "cert_expire_warning_time_in_day": 90}')
    put("tls_config", "least.json", '{"ca_cert_path": "/a"}')
    put("tls_config", "keys.json", '{"ca_cert_path":"a","server_key_path":"k","client_key_path":"l","x":null}')
    put("tls_config", "wrong.json", '{"ca_cert_path": ["a"], "cert_expire_warning_time_in_day": 1e300}')
    put("tls_config", "no.json", "[{}]")


main()
