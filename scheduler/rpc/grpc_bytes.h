// Conversions between protobuf messages, shared strings, statuses and gRPC's raw bytes.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/status/status.h"

namespace muster::scheduler {

// Parses `bytes` into `message`. False: they are not a message of this type.
bool Parse(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message);

grpc::ByteBuffer Serialise(const google::protobuf::MessageLite& message);

// Returns a serialised GetPeersReply with `peer_list`. The buffer shares the list instead of copying it.
grpc::ByteBuffer PeersReplyBytes(std::shared_ptr<const std::string> peer_list);

// Converts the status. (absl and gRPC use the same numbers for their codes.)
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace muster::scheduler
