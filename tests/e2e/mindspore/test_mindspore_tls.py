"""MindSpore's frames inside TLS at both ends, with the reference client: which clients are accepted, and under which
name."""

import asyncio
import re
import ssl
import sys
import time

import pytest

import mindspore_client as client
import pki
from mindspore_ends import ENDS, Beats, start_direct, start_end
from muster import BIN, HERE, SLOWNESS, WITH_TLS, eventually

VERSIONS = list(client.VERSIONS)
PASSWORD = "as-in-the-json-of-mindspore"

pytestmark = pytest.mark.skipif(WITH_TLS, reason="these tests make certificates of their own")


class WithSsl:
    """One JSON with two .p12 files, for the scheduler, the agent and the script, as in MindSpore."""

    def __init__(self, cluster):
        self.authority = pki.Authority()
        self.folder = pki.Folder(cluster.folder / "tls", self.authority, client=self.authority.process(),
                                 more={"server_cert_path": "server.p12", "client_cert_path": "client.p12"})
        pki.write(self.folder.path / "server.p12", self.authority.scheduler().p12(PASSWORD))
        pki.write(self.folder.path / "client.p12", self.authority.process().p12(PASSWORD))
        self.env = {"MS_TLS_CONFIG": self.folder.config, "MS_TLS_SERVER_PASSWORD": PASSWORD,
                    "MS_TLS_CLIENT_PASSWORD": PASSWORD}
        self.cluster = cluster

    def start(self, name, workers, *words):
        return start_end(name, self.cluster, workers, *words, env=self.env)

    def context(self, issued=None, name="other.pem"):
        """A script's TLS context: with that certificate, else with a good one."""
        if issued is None:
            return client.tls_context(self.folder.path)
        pki.write(self.folder.path / name, issued.pem())
        return client.tls_context(self.folder.path, name)


@pytest.fixture
def with_ssl(cluster):
    return WithSsl(cluster)


def connection(end, context):
    return client.Connection(end.host, end.port, timeout=10, tls=context)


async def register(end, context, node_id="0"):
    """The heartbeat connection of a process that was accepted."""
    opened = await connection(end, context).open()
    name, answer = await opened.ask(0, client.field(1, node_id) + client.field(3, "MS_WORKER"))
    reply = client.fields(answer)
    if name != "3":
        raise client.Refused(reply.get(4, b"").decode())
    return opened


async def expect_shut_out(end, context):
    # In TLS 1.3 the client is done before the server has checked its certificate.
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
        await register(end, context)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ENDS)
def test_a_whole_life(with_ssl, name, version):
    end = with_ssl.start(name, 8)
    processes = asyncio.run(client.whole_life(version, end.host, end.port, range(8), 8, tls=with_ssl.context()))
    assert sorted(process.rank for process in processes) == list(range(8))
    for process in processes:
        for opened in (process.heart, process.data):
            assert opened.writer.get_extra_info("cipher")[1] in ("TLSv1.2", "TLSv1.3")


@pytest.mark.parametrize("workers", [129])
def test_an_agents_own_processes(cluster, with_ssl, workers):
    cluster.start_scheduler("--worker_num", workers, env=with_ssl.env)
    agent = cluster.start_agent("agent", ["--worker_num", workers, "--local_worker_num", workers, "--per_node"],
                                [sys.executable, HERE / "mindspore_client.py", "2.10", 0, workers],
                                env=dict(with_ssl.env, CLIENT_TLS_FOLDER=with_ssl.folder.path))
    agent.expect(0, timeout=120)
    assert '"ranks": %s' % list(range(workers)) in agent.output(), agent.tail()


@pytest.mark.parametrize("tls_version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", ENDS)
def test_both_versions_of_tls(with_ssl, name, tls_version):
    end = with_ssl.start(name, 1)
    context = with_ssl.context()
    context.minimum_version = context.maximum_version = tls_version
    asyncio.run(client.whole_life("2.7", end.host, end.port, [0], 1, tls=context))


def shut_out():
    def nobody(_):
        return None, "peer did not return a certificate"

    def other_authority(_):
        return pki.Authority("e2e").process(), "not from an authority in ca_cert_path"

    def expired(authority):
        return authority.process(from_hours=-2, until_hours=-1), "expired at"

    def revoked(authority):
        issued = authority.process()
        authority.revoked.append(issued)
        return issued, "revoked"

    def servers_only(authority):
        return authority.issue("spiffe://%s/muster/*/node/*" % pki.DOMAIN, is_server=True), "not for this use"

    def nameless(authority):
        return authority.issue(None), "has no URI name"

    def other_domain(authority):
        return authority.issue("spiffe://elsewhere/muster/*/node/*"), "trust domain"

    def admin(authority):
        return authority.admin(), "which is not a node's"
    return [nobody, other_authority, expired, revoked, servers_only, nameless, other_domain, admin]


@pytest.mark.parametrize("who", shut_out(), ids=lambda who: who.__name__)
@pytest.mark.parametrize("name", ENDS)
def test_shut_out(with_ssl, name, who):
    issued, told = who(with_ssl.authority)
    with_ssl.folder.write_list()
    end = with_ssl.start(name, 1)
    context = with_ssl.context(issued)
    if issued is None:
        context = client.tls_context(with_ssl.folder.path, certificate=None)
    asyncio.run(expect_shut_out(end, context))
    end.program.expect_said(told)
    # An honest client is still served.
    asyncio.run(client.whole_life("2.10", end.host, end.port, [0], 1, tls=with_ssl.context()))


@pytest.mark.parametrize("name", ENDS)
def test_old_tls_is_shut_out(with_ssl, name):
    end = with_ssl.start(name, 1)
    context = with_ssl.context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    asyncio.run(expect_shut_out(end, context))
    end.program.expect_said("the TLS handshake failed")


@pytest.mark.parametrize("name", ENDS)
def test_a_process_that_is_revoked_is_cut_off(with_ssl, name, measured):
    """Its open connections are cut; the others stay."""
    end = with_ssl.start(name, 2)
    issued = with_ssl.authority.process()

    async def run():
        good = await register(end, with_ssl.context(), "0")
        bad = await register(end, with_ssl.context(issued), "1")
        with_ssl.authority.revoked.append(issued)
        with_ssl.folder.write_list()
        begin = time.monotonic()
        assert await asyncio.wait_for(bad.reader.read(1), 20 * SLOWNESS) == b""
        took = time.monotonic() - begin
        assert (await good.ask(2, client.field(1, "0")))[0] == "3"
        await expect_shut_out(end, with_ssl.context(issued))
        return took
    measured("from the new list to the end of the connection", asyncio.run(run()), at_most=2)
    end.program.expect_said("revoked")


@pytest.mark.parametrize("name", ENDS)
def test_under_ca_only_no_name_is_looked_at(with_ssl, name):
    """The same if our own certificate has a name."""
    with_ssl.env["MS_TLS_IDENTITY"] = "ca-only"
    end = with_ssl.start(name, 2)
    other = with_ssl.authority.issue("spiffe://%s/muster/*/node/somebody" % pki.DOMAIN)

    async def run():
        await register(end, with_ssl.context(with_ssl.authority.issue(None)), "0")
        await register(end, with_ssl.context(other), "1")
    asyncio.run(run())


class HeldOpen:
    """A handshake of TLS 1.3 without its last byte: the certificate has been checked, and the connection waits."""

    async def begin(self, end, context):
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.reader, self.writer = await asyncio.open_connection(end.host, end.port)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.writer.write(outgoing.read())
                incoming.write(await self.reader.read(65536))
        last = outgoing.read()
        self.writer.write(last[:-1])
        self.kept = last[-1:]
        return self

    async def finish(self):
        self.writer.write(self.kept)

    async def is_closed(self):
        try:
            while await self.reader.read(65536):  # tickets
                pass
        except ConnectionError:
            pass
        return True


@pytest.mark.parametrize("name", ENDS)
def test_a_handshake_that_outlasts_its_revocation_does_not_get_in(with_ssl, name):
    end = with_ssl.start(name, 1)
    issued = with_ssl.authority.process()

    async def run():
        held = await HeldOpen().begin(end, with_ssl.context(issued))
        spared = await HeldOpen().begin(end, with_ssl.context(with_ssl.authority.process(), "spared.pem"))
        with_ssl.authority.revoked.append(issued)
        with_ssl.folder.write_list()
        deadline = time.monotonic() + 2 * SLOWNESS
        while True:  # repeats until the new list is in force
            try:
                opened = await register(end, with_ssl.context(issued))
                opened.writer.close()
            except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
                break
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        await held.finish()
        await spared.finish()
        assert await asyncio.wait_for(held.is_closed(), 2 * SLOWNESS)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(spared.is_closed(), 0.5)
    asyncio.run(run())


@pytest.mark.parametrize("name", ENDS)
def test_renewed_certificates_are_served(with_ssl, name):
    end = with_ssl.start(name, 1)
    side, renew = ("server", with_ssl.authority.scheduler) if name == "mindspore_port" else ("client",
                                                                                         with_ssl.authority.process)
    renewed = renew()

    async def shown():
        opened = await register(end, with_ssl.context())
        certificate = opened.writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        opened.close()
        return certificate

    async def until_renewed():
        for _ in range(100):
            if await shown() == renewed.certificate.public_bytes(pki.serialization.Encoding.DER):
                return
            await asyncio.sleep(0.1 * SLOWNESS)
        raise AssertionError("the old certificate is served on")
    asyncio.run(shown())
    pki.write(with_ssl.folder.path / (side + ".p12"), renewed.p12(PASSWORD))
    asyncio.run(until_renewed())


def test_a_certificate_for_a_node_is_good_for_that_id_only(with_ssl):
    """This holds at --mindspore_port. A gateway's processes are on one machine, where users trust each other."""
    end = with_ssl.start("mindspore_port", 2)
    contexts = [with_ssl.context(with_ssl.authority.process("node/%d" % i), "node%d.pem" % i) for i in range(2)]

    async def run():
        with pytest.raises(client.Refused, match="node/1, but MS_NODE_ID is .0."):
            await register(end, contexts[1], "0")
        pair = [await register(end, context, str(i)) for i, context in enumerate(contexts)]
        # Leaving in the other's name: the answer is that it is not known. Heartbeats in its name: no answer.
        assert await pair[1].ask(1, client.field(1, "0")) == ("4", b"4")
        pair[1].timeout = 1
        with pytest.raises(asyncio.TimeoutError):
            await pair[1].ask(2, client.field(1, "0"))
        name, answer = await pair[0].ask(2, client.field(1, "0"))
        assert name == "3" and client.fields(answer)[2] == 1, "it still is part of the complete cluster"
    asyncio.run(run())
    with_ssl.cluster.env.update({name: str(value) for name, value in with_ssl.env.items()})  # for ms-ctl, too
    counted = with_ssl.cluster.ctl_json("counters")["counters"]
    assert counted["MindSpore: refused, another's certificate"] == 1, counted


def test_plain_frames_from_another_machine_are_refused(cluster, with_ssl, network):
    first, second = network.pair()
    port = 8119
    scheduler = cluster.start_scheduler("--worker_num", 1, "--mindspore_port", port, host=first.address,
                                        netns=first.name, env=with_ssl.env)
    probe = ("import sys; sys.path.insert(0, %r); import socket, mindspore_client as client\n"
             "s = socket.create_connection((%r, %d), 5); s.settimeout(5)\n"
             "s.sendall(client.frame('9', b'MS_WORKER'))\n"
             "try: print('got', s.recv(4))\nexcept ConnectionError: print('got reset')" % (str(HERE), first.address, port))
    assert "got b'RPC0'" in first.run(sys.executable, "-c", probe)
    assert re.search("got (b''|reset)", second.run(sys.executable, "-c", probe))
    scheduler.expect_said("it comes from another machine and does not speak TLS")


def test_with_require_tls_all_plain_frames_are_refused(with_ssl):
    end = with_ssl.start("mindspore_port", 1, "--require_tls")
    asyncio.run(expect_shut_out(end, None))
    end.program.expect_said("does not speak TLS, which --require_tls asks for")
    asyncio.run(client.whole_life("2.10", end.host, end.port, [0], 1, tls=with_ssl.context()))


def test_a_gateway_whose_certificate_is_for_clients_only(cluster, with_ssl):
    """Scripts with TLS refuse it; its log says which certificate it should have."""
    pki.write(with_ssl.folder.path / "client.p12", with_ssl.authority.host().p12(PASSWORD))
    end = with_ssl.start("gateway", 1)
    asyncio.run(expect_shut_out(end, with_ssl.context()))
    end.program.expect_said("this side's certificate is not for servers")
