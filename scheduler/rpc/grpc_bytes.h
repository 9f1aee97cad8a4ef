// Between protobuf messages, shared strings, statuses and gRPC's raw bytes.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// False when the bytes are no such message.
bool Parse(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

grpc::ByteBuffer Serialise(const google::protobuf::MessageLite& message);

// A serialised GetPeersReply around `peer_list`, which is shared, not copied.
grpc::ByteBuffer PeersReplyBytes(std::shared_ptr<const std::string> peer_list);

// The codes of both are the same numbers.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace muster::scheduler
