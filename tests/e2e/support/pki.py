"""A certificate authority for a test: certificates as in docs/security.md, and folders that --tls_config accepts."""

import datetime
import ipaddress
import json
import os
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DOMAIN = "e2e.example"
# Every address that a test's scheduler has (netns.py), and its usual names.
SCHEDULER_HOSTS = ("127.0.0.1", "::1", "localhost", "10.77.1.1", "10.77.1.2", "10.77.2.1", "fd77:1::1", "fd77:1::2")


def _now():
    return datetime.datetime.utcnow()


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _san(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def write(path, data):
    """Replaces the file in one step; for its owner only."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(data)
    os.chmod(fresh, 0o600)
    os.replace(fresh, path)


class Issued:
    def __init__(self, certificate, key, intermediates=()):
        self.certificate, self.key, self.intermediates = certificate, key, intermediates

    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM) + self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()) + b"".join(
                authority.pem() for authority in self.intermediates)

    def p12(self, password):
        return pkcs12.serialize_key_and_certificates(b"muster", self.key, self.certificate, None,
                                                     serialization.BestAvailableEncryption(password.encode()))

    def fingerprint(self):
        return self.certificate.fingerprint(hashes.SHA256()).hex()


class Authority:
    def __init__(self, name="e2e", parent=None):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = _name(name)
        issuer = parent or self
        self.certificate = issuer._build(self.name, self.key.public_key(), -24, 24 * 3650).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(issuer.key, hashes.SHA256())
        self.intermediates = [self] if parent else []  # the authorities up to the root, for certificates from this one
        self.revoked = []
        self.subordinates = []

    def subordinate(self, name):
        """An intermediate authority of this root; the root's file of revocation lists has its list, too."""
        self.subordinates.append(Authority(name, self))
        return self.subordinates[-1]

    def _build(self, subject, public_key, from_hours, until_hours):
        return (x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(public_key)
                .serial_number(x509.random_serial_number())
                .not_valid_before(_now() + datetime.timedelta(hours=from_hours))
                .not_valid_after(_now() + datetime.timedelta(hours=until_hours)))

    def issue(self, uri, hosts=(), is_server=False, is_client=None, from_hours=-1, until_hours=24 * 365):
        """Issues a certificate for clients, or with `is_server` for servers; with `is_client` as well, for both."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.UniformResourceIdentifier(uri)] if uri else []
        names += [_san(host) for host in hosts]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH] if is_server else []
        usages += [ExtendedKeyUsageOID.CLIENT_AUTH] if is_client or not is_server else []
        builder = self._build(_name("peer"), key.public_key(), from_hours, until_hours)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return Issued(builder.sign(self.key, hashes.SHA256()), key, self.intermediates)

    def scheduler(self, hosts=SCHEDULER_HOSTS, **options):
        return self.issue("spiffe://%s/muster/*/scheduler" % DOMAIN, hosts, is_server=True, **options)

    def node(self, node_id, job="*", **options):
        return self.issue("spiffe://%s/muster/%s/node/%s" % (DOMAIN, job, node_id), **options)

    def host(self, name="e2e", job="*", **options):
        return self.issue("spiffe://%s/muster/%s/host/%s/*" % (DOMAIN, job, name), **options)

    def admin(self):
        return self.issue("spiffe://%s/muster/*/admin" % DOMAIN)

    def process(self, uri_end="host/e2e/*", **options):
        """Issues a certificate for both ends, as `ms-ctl certs node` does: a gateway is the server of MindSpore's
        processes."""
        return self.issue("spiffe://%s/muster/*/%s" % (DOMAIN, uri_end), is_server=True, is_client=True, **options)

    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def revocation_list(self):
        builder = (x509.CertificateRevocationListBuilder().issuer_name(self.name)
                   .last_update(_now() - datetime.timedelta(minutes=1))
                   .next_update(_now() + datetime.timedelta(days=1)))
        for issued in self.revoked:
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder().serial_number(issued.certificate.serial_number)
                .revocation_date(_now()).build())
        own = builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        return own + b"".join(authority.revocation_list() for authority in self.subordinates)


class Folder:
    """A folder with tls.json, server.pem, client.pem, ca.pem and crl.pem; `more` are further fields."""

    def __init__(self, path, authority, server=None, client=None, more=None):
        self.path, self.authority = pathlib.Path(path), authority
        self.path.mkdir(parents=True)
        self.config = self.path / "tls.json"
        fields = {"ca_cert_path": "ca.pem", "crl_path": "crl.pem", "server_cert_path": "server.pem",
                  "client_cert_path": "client.pem", "cipher_list": "", "cert_expire_warning_time_in_day": 90}
        fields.update(more or {})
        write(self.config, json.dumps(fields).encode())
        write(self.path / "ca.pem", authority.pem() + b"".join(each.pem() for each in authority.subordinates))
        self.write_list()
        if server:
            write(self.path / "server.pem", server.pem())
        if client:
            write(self.path / "client.pem", client.pem())

    def write_list(self):
        write(self.path / "crl.pem", self.authority.revocation_list())
