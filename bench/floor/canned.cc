#include "bench/floor/canned.h"

#include <string>

#include "muster/v1/rendezvous.pb.h"

namespace muster::bench {
namespace {

constexpr uint32_t kRank = 50'000;
constexpr uint32_t kPort = 40'000;
constexpr char kNode[] = "node-12345";
constexpr char kAddress[] = "127.0.0.1";
constexpr char kAddressBytes[] = {127, 0, 0, 1};

grpc::ByteBuffer ToBytes(const v1::SchedulerMessage& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

v1::SchedulerMessage Message() {
  v1::SchedulerMessage message;
  message.set_term(1);
  return message;
}

void Fill(v1::RingNeighbour& neighbour, uint32_t rank, const std::string& fingerprint) {
  neighbour.set_rank(rank);
  neighbour.set_port(kPort);
  neighbour.set_node_id(kNode);
  neighbour.set_host_name(kNode);
  neighbour.set_address(kAddressBytes, sizeof(kAddressBytes));
  neighbour.set_certificate_fingerprint(fingerprint);
}

}  // namespace

Canned MakeCanned(uint32_t slots, bool has_fingerprints) {
  const std::string fingerprint(has_fingerprints ? 32 : 0, 'f');
  v1::SchedulerMessage welcome = Message();
  welcome.mutable_welcome()->set_cluster_id("0123456789abcdef");
  welcome.mutable_welcome()->set_job_id("load");
  welcome.mutable_welcome()->set_run(1);
  welcome.mutable_welcome()->set_node_id(kNode);
  welcome.mutable_welcome()->set_heartbeat_interval_ms(5'000);

  v1::SchedulerMessage desired_message = Message();
  v1::DesiredState& desired = *desired_message.mutable_desired();
  desired.set_run(1);
  desired.set_phase(v1::RUN_PHASE_RUNNING);
  desired.set_round(1);
  desired.set_peers_digest(std::string(32, 'd'));
  v1::Assignment& assignment = *desired.mutable_assignment();
  assignment.set_worker_num(kRank * 2);
  assignment.set_local_world_size(slots);
  assignment.set_node_rank(kRank / 8);
  assignment.set_machine_num(kRank / 4);
  assignment.set_master_address(kAddress);
  assignment.set_master_port(kPort);
  assignment.set_role(v1::ROLE_WORKER);
  assignment.set_certificate_fingerprint(fingerprint);
  assignment.set_address(kAddressBytes, sizeof(kAddressBytes));
  for (uint32_t i = 0; i < slots; ++i) {
    v1::SlotAssignment& slot = *assignment.add_slots();
    slot.set_rank(kRank + i);
    slot.set_local_rank(i);
    slot.set_should_run(true);
    if (i == 0) Fill(*slot.mutable_previous(), kRank - 1, fingerprint);
    if (i + 1 == slots) Fill(*slot.mutable_next(), kRank + slots, fingerprint);
  }

  v1::SchedulerMessage answer = Message();
  answer.mutable_acknowledgement()->set_heartbeat_seq(100);
  answer.mutable_acknowledgement()->set_heartbeat_interval_ms(5'000);
  return {ToBytes(welcome), ToBytes(desired_message), ToBytes(answer)};
}

}  // namespace muster::bench
