"""A hand-made client of the rendezvous protocol, for messages that no agent of Muster sends."""

import functools
import subprocess
import tempfile
import types

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from muster import ROOT

_METHOD = "/muster.v1.Rendezvous/Session"


@functools.lru_cache(maxsize=None)
def messages():
    """The classes of the rendezvous messages, by name."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", "-I", ROOT / "proto", "--include_imports", "--descriptor_set_out", out.name,
                        "muster/v1/rendezvous.proto"], check=True, cwd=ROOT / "proto", timeout=60)
        files = descriptor_pb2.FileDescriptorSet.FromString(out.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return types.SimpleNamespace(**{name: factory.GetPrototype(pool.FindMessageTypeByName("muster.v1." + name))
                                    for name in ("AgentMessage", "SchedulerMessage")})


_OPTIONS = [("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]


def channel(port):
    return grpc.insecure_channel("127.0.0.1:%d" % port, options=_OPTIONS)


def tls_channel(port, authority, issued):
    """A channel with that certificate (pki.py)."""
    pem = issued.pem()
    cut = pem.index(b"-----BEGIN PRIVATE KEY")
    credentials = grpc.ssl_channel_credentials(authority.pem(), pem[cut:], pem[:cut])
    return grpc.secure_channel("127.0.0.1:%d" % port, credentials, options=_OPTIONS)


def open_session(grpc_channel, pb, requests, timeout):
    """Sends the messages of the iterator; returns an iterator of replies."""
    call = grpc_channel.stream_stream(_METHOD, request_serializer=pb.AgentMessage.SerializeToString,
                                      response_deserializer=pb.SchedulerMessage.FromString)
    return call(requests, timeout=timeout)


def open_raw_session(grpc_channel, requests, timeout):
    """The same with bytes."""
    return grpc_channel.stream_stream(_METHOD)(requests, timeout=timeout)


def join(pb, job, node_id, incarnation, worker_num):
    message = pb.AgentMessage()
    message.join.protocol_version = 2
    message.join.job_id = job
    message.join.node_id = node_id
    message.join.incarnation = incarnation
    message.join.connect_seq = 1
    message.join.settings.worker_num = worker_num
    message.join.node.role = 1
    message.join.node.host_name = "made-up"
    message.join.node.machine_id = "made-up"
    message.join.node.slots.add()
    return message
