"""Checks ms-ctl certs with the openssl command line."""

import json
import os
import re
import subprocess

import pytest

from muster import BIN


@pytest.fixture
def certs(tmp_path):
    return Certs(tmp_path)


class Certs:
    """An authority's folder, with calls of ms-ctl and openssl on it."""

    def __init__(self, folder):
        self.folder = folder
        self.dir = folder / "ca"

    def run(self, *words, code=0, env=None):
        argv = [BIN / "ms-ctl", "certs", *words]
        if words[0] != "show":
            argv += ["--dir", self.dir]
        steering = {name: value for name, value in os.environ.items() if not name.startswith("MS_")}
        done = subprocess.run([str(word) for word in argv], cwd=self.folder, env={**steering, **(env or {})}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30)
        assert done.returncode == code, "%s: %d: %s%s" % (words, done.returncode, done.stdout, done.stderr)
        return done.stdout + (done.stderr if code else "")

    def json(self, *words, **options):
        return json.loads(self.run(*words, "--json", **options))

    def openssl(self, *words, code=0):
        done = subprocess.run(["openssl", *[str(word) for word in words]], cwd=self.dir, text=True, timeout=30,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == code, "openssl %s: %s" % (words, done.stdout)
        return done.stdout

    def verify(self, name, purpose, code=0):
        return self.openssl("verify", "-x509_strict", "-CAfile", "ca.pem", "-crl_check", "-CRLfile", name + "/crl.pem",
                            "-purpose", purpose, name + "/cert.pem", code=code)


def all_kinds(certs):
    certs.run("init", "--trust_domain", "example.org")
    certs.run("scheduler", "--host", "node1", "--host", "10.1.2.3", "--host", "fd00::7")
    certs.run("node", "--id", "3", "--job", "train")
    certs.run("node", "--host", "gpu1")
    certs.run("admin")


def test_openssl_takes_what_was_issued(certs):
    all_kinds(certs)
    for name in ("train-node-3", "host-gpu1"):
        certs.verify(name, "sslclient")
        certs.verify(name, "sslserver")
    certs.verify("scheduler", "sslserver")
    certs.verify("admin", "sslclient")
    assert "unsuitable certificate purpose" in certs.verify("scheduler", "sslclient", code=2)
    assert "unsuitable certificate purpose" in certs.verify("admin", "sslserver", code=2)
    text = certs.openssl("x509", "-in", "scheduler/cert.pem", "-noout", "-text")
    names = re.search(r"Subject Alternative Name: *\n *(.*)", text).group(1)
    for name in ("URI:spiffe://example.org/muster/*/scheduler", "DNS:node1", "DNS:localhost", "IP Address:10.1.2.3",
                 "IP Address:FD00:0:0:0:0:0:0:7", "IP Address:127.0.0.1"):
        assert name in names, names
    assert "ASN1 OID: prime256v1" in text and "ecdsa-with-SHA256" in text and "CA:FALSE" in text, text
    text = certs.openssl("x509", "-in", "train-node-3/cert.pem", "-noout", "-ext", "subjectAltName")
    assert "URI:spiffe://example.org/muster/train/node/3" in text
    text = certs.openssl("x509", "-in", "host-gpu1/cert.pem", "-noout", "-ext", "subjectAltName")
    assert "URI:spiffe://example.org/muster/*/host/gpu1/*" in text
    text = certs.openssl("x509", "-in", "ca.pem", "-noout", "-text")
    assert "CA:TRUE, pathlen:0" in text and "Certificate Sign, CRL Sign" in text, text
    assert certs.openssl("x509", "-in", "ca.pem", "-noout", "-checkend", 9 * 365 * 86400)
    certs.openssl("x509", "-in", "admin/cert.pem", "-noout", "-checkend", 366 * 86400, code=1)


def test_an_admin_of_one_job(certs):
    certs.run("init")
    made = certs.json("admin", "--job", "train")["certificates"][0]
    assert made["name"] == "train-admin" and made["uri"] == "spiffe://muster/muster/train/admin", made
    certs.verify("train-admin", "sslclient")


def test_words_that_are_for_another_kind_are_refused(certs):
    certs.run("init")
    for words, said in ((["scheduler", "--host", "n", "--job", "train"], "for all jobs; leave --job out"),
                        (["scheduler", "--host", "n", "--id", "3"], "--id is for a node"),
                        (["admin", "--id", "3"], "--id is for a node"),
                        (["admin", "--host", "n"], "--host is for a scheduler")):
        assert said in certs.run(*words, code=2), words
    assert certs.json("list")["certificates"] == []


def test_modes_do_not_depend_on_the_umask(certs):
    before = os.umask(0)
    try:
        all_kinds(certs)
    finally:
        os.umask(before)
    for path in [certs.dir, *certs.dir.rglob("*")]:
        mode = path.stat().st_mode & 0o777
        if path.is_dir():
            assert mode == 0o700, path
        elif path.name in ("cert.pem", "ca.key", "index.json", "lock"):
            assert mode == 0o600, path
        else:
            assert mode == 0o644, path


def test_a_folder_goes_with_all_it_needs(certs):
    all_kinds(certs)
    for name in ("scheduler", "train-node-3", "host-gpu1", "admin"):
        config = json.loads((certs.dir / name / "tls.json").read_text())
        paths = [value for key, value in config.items() if key.endswith("_path")]
        assert paths and all((certs.dir / name / path).is_file() and "/" not in path for path in paths), config
        assert 7 <= config["cert_expire_warning_time_in_day"] <= 180


def test_revocation_is_in_the_list_and_its_copies(certs):
    all_kinds(certs)
    serial = certs.json("list")["certificates"][1]["serial"]
    said = certs.run("revoke", "train-node-3", "--reason", "key-compromise")
    assert serial in said and "next one is due" in said and "/scheduler/crl.pem" in said, said
    assert "certificate revoked" in certs.verify("train-node-3", "sslclient", code=2)
    certs.verify("host-gpu1", "sslclient")
    for copy in ("crl.pem", "scheduler/crl.pem", "host-gpu1/crl.pem"):
        text = certs.openssl("crl", "-in", copy, "-CAfile", "ca.pem", "-text", "-noout")
        assert "verify OK" in text and serial.upper() in text and "Key Compromise" in text, text
        assert re.search(r"X509v3 CRL Number: *\n *2\n", text), text
    again = certs.json("revoke", serial)
    assert not again["revoked"] and again["revoked_before"][0]["serial"] == serial
    assert [entry["status"] for entry in certs.json("list")["certificates"]] == ["valid", "revoked", "valid", "valid"]


def test_renewal_leaves_the_old_one_good_until_it_is_revoked(certs):
    all_kinds(certs)
    before = certs.openssl("x509", "-in", "admin/cert.pem", "-noout", "-serial", "-pubkey")
    renewed = certs.json("renew", "admin", "--days", 30)["certificates"][0]
    after = certs.openssl("x509", "-in", "admin/cert.pem", "-noout", "-serial", "-pubkey")
    assert before.splitlines()[0] != after.splitlines()[0] and before.splitlines()[2] != after.splitlines()[2]
    assert renewed["serial"].upper() in after
    certs.verify("admin", "sslclient")
    certs.openssl("x509", "-in", "admin/cert.pem", "-noout", "-checkend", 31 * 86400, code=1)
    assert [entry["status"] for entry in certs.json("list")["certificates"] if entry["name"] == "admin"] == [
        "valid", "valid"]


def test_pkcs12_is_what_openssl_reads(certs):
    certs.run("init")
    word = certs.folder / "word"
    word.write_text("open sesame\n")
    said = certs.run("node", "--id", "1", "--password_file", word, code=1)
    assert "chmod 600" in said and "sesame" not in said, said
    word.chmod(0o600)
    certs.run("node", "--id", "1", "--password_file", word)
    assert not (certs.dir / "node-1" / "cert.pem").exists()
    for name in ("server.p12", "client.p12"):
        path = certs.dir / "node-1" / name
        assert path.stat().st_mode & 0o777 == 0o600
        text = certs.openssl("pkcs12", "-in", path, "-passin", "file:%s" % word, "-info", "-nodes")
        assert "MAC: sha256" in text and "AES-256-CBC" in text and "PRIVATE KEY" in text, text
        assert "invalid password" in certs.openssl("pkcs12", "-in", path, "-passin", "pass:no", "-noout", code=1)
        said = certs.run("show", path, env={"MS_TLS_CLIENT_PASSWORD": "no"}, code=1)
        assert "password is wrong" in said, said
        assert "spiffe://muster/muster/*/node/1" in certs.run("show", path, env={"MS_TLS_CLIENT_PASSWORD": "open sesame"})


def test_an_old_pkcs12_is_refused_with_the_conversion(certs):
    certs.run("init")
    certs.run("admin")
    done = subprocess.run(["openssl", "pkcs12", "-export", "-legacy", "-in", "admin/cert.pem", "-passout", "pass:x",
                           "-out", "old.p12"], cwd=certs.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        pytest.skip("this openssl has no legacy provider: %s" % done.stdout)
    said = certs.run("show", certs.dir / "old.p12", env={"MS_TLS_CLIENT_PASSWORD": "x"}, code=1)
    assert "-legacy" in said and "RC2-40" in said, said


def test_show_agrees_with_openssl(certs):
    all_kinds(certs)
    facts = certs.json("show", certs.dir / "scheduler" / "cert.pem")["certificates"][0]
    text = certs.openssl("x509", "-in", "scheduler/cert.pem", "-noout", "-serial", "-fingerprint", "-sha256")
    assert "serial=%s" % facts["serial"].upper() in text
    assert facts["fingerprint"] == re.search(r"Fingerprint=(.*)", text).group(1).replace(":", "").lower()
    assert facts["has_key"] and facts["in_time"] and facts["usages"] == ["serverAuth"]
    listed = certs.json("show", certs.dir / "crl.pem")["revocation_lists"][0]
    assert listed["number"] == "1" and listed["revoked"] == []
    said = certs.run("show", certs.dir / "index.json", code=1)
    assert "neither a certificate" in said, said


def test_two_at_once_lose_nothing(certs):
    certs.run("init")
    running = [subprocess.Popen([str(BIN / "ms-ctl"), "certs", "node", "--dir", str(certs.dir), "--id", str(number)],
                                stdout=subprocess.DEVNULL) for number in range(12)]
    assert [program.wait(60) for program in running] == [0] * 12
    entries = certs.json("list")["certificates"]
    assert len(entries) == 12 and len({entry["serial"] for entry in entries}) == 12
    assert not [path for path in certs.dir.rglob("*.tmp")]


def test_the_list_lines_up(certs):
    all_kinds(certs)
    lines = certs.run("list").splitlines()
    column = lines[0].index("SERIAL")
    assert lines[0].split()[:3] == ["NAME", "KIND", "STATUS"]
    assert all(re.match(r"[0-9a-f]{32}  spiffe://", line[column:]) for line in lines[1:5]), lines


def test_help_and_completion_know_it():
    said = subprocess.run([BIN / "ms-ctl", "certs", "--help"], text=True, stdout=subprocess.PIPE, timeout=10).stdout
    for word in ("init", "scheduler", "node", "admin", "renew", "revoke", "crl", "list", "show", "--dir", "--json"):
        assert word in said, said
    assert "certs" in subprocess.run([BIN / "ms-ctl", "--help"], text=True, stdout=subprocess.PIPE, timeout=10).stdout
    script = subprocess.run([BIN / "ms-ctl", "completion", "bash"], text=True, stdout=subprocess.PIPE, timeout=10).stdout
    asked = script + "\nCOMP_WORDS=(ms-ctl certs re)\nCOMP_CWORD=2\n_ms_ctl\necho ${COMPREPLY[@]}\n"
    assert subprocess.run(["bash", "-c", asked], text=True, stdout=subprocess.PIPE, timeout=10).stdout.split() == [
        "renew", "revoke"]
