// Conversions between protobuf messages, shared strings, statuses and gRPC's raw bytes.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// False if the bytes are not such a message.
bool Parse(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

grpc::ByteBuffer Serialise(const google::protobuf::MessageLite& message);

// Returns a serialised GetPeersReply around `peer_list`, which is shared, not copied.
grpc::ByteBuffer PeersReplyBytes(std::shared_ptr<const std::string> peer_list);

// Both use the same numbers for their codes.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace muster::scheduler
