#!/usr/bin/env python3
"""Node check: asks the node health check daemon of NVIDIA Resiliency Extension (nvhcd), as its ft_launcher does.

    python3 nvhcd.py [--if_available] [--socket /var/run/nvhcd.sock] [--timeout_s 60] [--argument=--no-slurm ...]

The daemon runs the health check of its own configuration, and passes it the --argument words. The node is fit if the
daemon reports success and JSON with "fail_count": 0.
Needs the daemon's socket, and grpcio (pip install grpcio). It needs no generated code, and no NVIDIA package.
Takes as long as the daemon's check, and at most --timeout_s.
Exit code: 0 the node is fit, or "skipped: ..." with --if_available if there is no socket or no grpcio; 1 a check
failed, and the last line names it; 2 wrong words; 3 the daemon, its socket or grpcio is missing, or there is no answer
in time. (ft_launcher takes a node without an answer for a healthy one. This check does not.)
"""
import argparse
import json
import os
import sys

FIT, UNFIT, NO_RESULT = 0, 1, 3

# The protocol, from nvhcd.proto (package nvhcd): HealthCheckService.RunHealthCheck(HealthCheckRequest).
METHOD = "/nvhcd.HealthCheckService/RunHealthCheck"
# HealthCheckRequest: repeated string args = 1.
ARGS = 1
# HealthCheckResponse: bool success = 1, int32 exit_code = 2, string output = 3, string error = 4.
SUCCESS, EXIT_CODE, OUTPUT, ERROR = 1, 2, 3, 4


def encode_varint(number):
    encoded = bytearray()
    while number > 0x7f:
        encoded.append(number & 0x7f | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def encode_request(arguments):
    request = b""
    for argument in arguments:
        text = argument.encode()
        request += encode_varint(ARGS << 3 | 2) + encode_varint(len(text)) + text
    return request


def decode_varint(data, at):
    """Returns the number and the place after it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number is cut off")
        number |= (data[at] & 0x7f) << shift
        at += 1
        if data[at - 1] < 0x80:
            return number, at
    raise ValueError("a number is too long")


def decode_fields(data):
    """Returns the values of a protobuf message by field number: a number or bytes."""
    fields, at = {}, 0
    while at < len(data):
        tag, at = decode_varint(data, at)
        kind = tag & 7
        if kind == 0:
            fields[tag >> 3], at = decode_varint(data, at)
            continue
        if kind == 2:
            size, at = decode_varint(data, at)
        elif kind in (1, 5):  # fixed size; no field that is read here has it
            size = 8 if kind == 1 else 4
        else:
            raise ValueError("unknown wire type %d" % kind)
        if at + size > len(data):
            raise ValueError("a field is cut off")
        fields[tag >> 3] = data[at:at + size]
        at += size
    return fields


def text_of(value):
    """Returns the value as one line."""
    return " ".join(value.decode(errors="replace").split())[:200] if isinstance(value, bytes) else ""


def judge(answer):
    """Returns the exit code and its reason for the bytes of a HealthCheckResponse."""
    try:
        fields = decode_fields(answer)
    except ValueError as error:
        return NO_RESULT, "the daemon's answer can't be read: %s" % error
    output = text_of(fields.get(OUTPUT))
    if not fields.get(SUCCESS):
        code = fields.get(EXIT_CODE, 0)
        if isinstance(code, int) and code >= 1 << 63:  # negative
            code -= 1 << 64
        said = text_of(fields.get(ERROR)) or output
        return UNFIT, "the daemon's health check failed with code %s%s" % (code, ": " + said if said else "")
    try:
        result = json.loads(fields.get(OUTPUT, b""))
        fail_count, failed = result["fail_count"], result.get("failed_checks")
    except (ValueError, KeyError, TypeError, AttributeError):
        return UNFIT, "the daemon's output is no JSON object with a fail_count: '%s'" % output
    if fail_count != 0:
        names = failed if isinstance(failed, list) else []
        return UNFIT, "%s checks failed%s" % (fail_count, ": " + ", ".join(map(str, names)) if names else "")
    return FIT, "no check failed"


def ask(socket, arguments, timeout_s):
    import grpc  # main() has tried it
    with grpc.insecure_channel("unix:" + socket) as channel:
        try:
            answer = channel.unary_unary(METHOD)(encode_request(arguments), timeout=timeout_s)
        except grpc.RpcError as error:
            return NO_RESULT, "no answer from %s: %s, %s" % (socket, error.code().name, error.details())
    return judge(answer)


def main():
    parser = argparse.ArgumentParser(description="Asks NVIDIA Resiliency Extension's node health check daemon.")
    parser.add_argument("--if_available", action="store_true", help="without the socket or grpcio: skip the check")
    parser.add_argument("--socket", default="/var/run/nvhcd.sock", help="the daemon's socket")
    parser.add_argument("--timeout_s", type=float, default=60, help="longest wait for the answer")
    parser.add_argument("--argument", action="append", help="a word for the daemon's check; instead of --no-slurm")
    words = parser.parse_args()
    socket = os.path.abspath(words.socket[len("unix://"):] if words.socket.startswith("unix://") else words.socket)

    missing = remedy = None
    if not os.path.exists(socket):
        missing, remedy = "there is no socket %s" % socket, "start the daemon"
    else:
        try:
            import grpc  # noqa: F401
        except ImportError as error:
            missing, remedy = "%s can't import grpcio: %s" % (sys.executable, error), "install grpcio"
    if missing is not None:
        if words.if_available:
            print("skipped: " + missing)
            return FIT
        print("nvhcd: %s: %s, or pass --if_available" % (missing, remedy))
        return NO_RESULT

    code, reason = ask(socket, words.argument or ["--no-slurm"], words.timeout_s)
    print("nvhcd: " + " ".join(reason.split()))
    return code


if __name__ == "__main__":
    sys.exit(main())
