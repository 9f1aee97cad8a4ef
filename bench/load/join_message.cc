#include "bench/load/join_message.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/version.h"

namespace muster::bench {
namespace {

constexpr uint32_t kFirstPort = 40'000;  // takes three bytes on the wire, as the ports that the kernel chooses do

}  // namespace

v1::AgentMessage MakeJoin(const std::string& job_id, uint32_t agents, uint32_t slots, const Membership& member) {
  v1::AgentMessage message;
  v1::Join& join = *message.mutable_join();
  join.set_protocol_version(kProtocolVersion);
  join.set_job_id(job_id);
  join.set_node_id(absl::StrFormat("node-%05d", member.number));
  join.set_incarnation(member.incarnation);
  join.set_connect_seq(member.connect_seq);
  join.set_cluster_id(member.cluster_id);
  join.set_run(member.run);
  join.set_term(member.term);
  join.mutable_settings()->set_worker_num(agents * slots);
  join.mutable_settings()->set_server_num(0);
  join.mutable_settings()->set_enable_recovery(true);
  v1::NodeInfo& node = *join.mutable_node();
  node.set_role(v1::ROLE_WORKER);
  node.set_host_name(join.node_id());
  node.set_machine_id(absl::StrFormat("0f1e2d3c-4b5a-6978-8796-a5b4c3%06d/4026531840", member.number));
  // All agents connect over loopback, but nodes on so many machines can't have such an address.
  node.set_address(
      absl::StrFormat("10.%d.%d.%d", member.number >> 16 & 255, member.number >> 8 & 255, member.number & 255));
  for (uint32_t i = 0; i < slots; ++i) node.add_slots()->set_ring_port(kFirstPort + i);
  node.set_master_port(kFirstPort + slots);
  node.set_pid(1'000 + member.number);
  node.set_user("load");
  node.set_version(kVersion);
  node.set_lock_token(absl::StrFormat("%016x", member.incarnation));
  return message;
}

v1::AgentMessage MakeHeartbeat(uint64_t seq) {
  v1::AgentMessage message;
  message.mutable_report()->set_heartbeat_seq(seq);
  return message;
}

grpc::ByteBuffer ToBytes(const v1::AgentMessage& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

bool FromBytes(const grpc::ByteBuffer& bytes, v1::SchedulerMessage& message) {
  grpc::ByteBuffer copy(bytes);
  grpc::ProtoBufferReader reader(&copy);
  return reader.status().ok() && message.ParseFromZeroCopyStream(&reader);
}

}  // namespace muster::bench
