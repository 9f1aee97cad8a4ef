"""A client like grpcurl and grpc_cli: it has no .proto and learns all it needs through gRPC's reflection."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_METHOD = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


def _varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7f) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """Yields (number, bytes or int) of a message in protobuf's wire format."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def _ask(channel, number, text):
    """Returns the answer to one question; `number` is its field in ServerReflectionRequest."""
    question = bytes([number << 3 | 2, len(text)]) + text.encode()
    answer, = channel.stream_stream(_METHOD)(iter([question]), timeout=20)
    return dict(fields(answer))


def services(channel):
    listed = _ask(channel, 7, "*")[6]  # list_services_response
    return [dict(fields(service))[1].decode() for _, service in fields(listed)]


def _load(channel, pool, seen, number, text):
    for _, serialised in fields(_ask(channel, number, text)[4]):  # file_descriptor_response
        file = descriptor_pb2.FileDescriptorProto.FromString(serialised)
        if file.name in seen:
            continue
        seen.add(file.name)
        for name in file.dependency:
            _load(channel, pool, seen, 3, name)  # file_by_filename
        pool.Add(file)


def call(channel, service, method, timeout=20, **values):
    """Makes one unary call, with the types that reflection gives."""
    pool = descriptor_pool.DescriptorPool()
    _load(channel, pool, set(), 4, service)  # file_containing_symbol
    found = pool.FindServiceByName(service).FindMethodByName(method)
    factory = message_factory.MessageFactory(pool)
    asked, answered = factory.GetPrototype(found.input_type), factory.GetPrototype(found.output_type)
    return channel.unary_unary("/%s/%s" % (service, method), request_serializer=asked.SerializeToString,
                               response_deserializer=answered.FromString)(asked(**values), timeout=timeout)
