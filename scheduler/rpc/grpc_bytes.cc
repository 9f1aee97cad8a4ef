#include "scheduler/rpc/grpc_bytes.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <array>
#include <utility>

#include "muster/v1/rendezvous.pb.h"

namespace muster::scheduler {

bool Parse(const grpc::ByteBuffer& bytes, google::protobuf::MessageLite& message) {
  grpc::ByteBuffer copy(bytes);  // shares the memory; needed because the reader takes no const buffer
  grpc::ProtoBufferReader reader(&copy);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

grpc::ByteBuffer Serialise(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer PeersReplyBytes(std::shared_ptr<const std::string> peer_list) {
  using google::protobuf::internal::WireFormatLite;
  constexpr uint32_t kTag = (v1::GetPeersReply::kPeerListFieldNumber << 3) | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  std::array<uint8_t, 16> head{};
  uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(kTag, head.data());
  end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(peer_list->size(), end);

  auto* keeps_alive = new std::shared_ptr<const std::string>(std::move(peer_list));
  void* bytes = const_cast<char*>((*keeps_alive)->data());  // gRPC only reads it
  const std::array<grpc::Slice, 2> slices = {
      grpc::Slice(head.data(), static_cast<size_t>(end - head.data())),
      grpc::Slice(
          bytes, (*keeps_alive)->size(),
          [](void* owner) { delete static_cast<std::shared_ptr<const std::string>*>(owner); }, keeps_alive)};
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace muster::scheduler
