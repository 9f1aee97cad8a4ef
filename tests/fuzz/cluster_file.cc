// The cluster file as ms-ring reads it, for each rank that may be meant.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/check.h"
#include "ring/fault.h"
#include "ring/plan.h"

namespace muster::ring {
namespace {

void Check(const std::string& text, std::optional<uint32_t> rank) {
  const auto plan = ParsePlan(text, rank);
  if (!plan.ok()) {
    MUSTER_CHECK(plan.status().message().size() > 14, "an error says something");
    return;
  }
  MUSTER_CHECK(!rank || plan->rank == *rank, "the rank that was meant");
  MUSTER_CHECK(plan->rank < plan->size(), "a rank of the ring");
  for (uint32_t i = 0; i < plan->size(); ++i) {
    const Peer& peer = plan->peers[i];
    MUSTER_CHECK(peer.rank == i && peer.port != 0, "peers in the order of their ranks");
    MUSTER_CHECK(peer.fingerprint.size() == (plan->is_secure ? 64 : 0), "all have a certificate, or none");
    MUSTER_CHECK(peer.Where().find('\n') == std::string::npos, "one line");
  }
  MUSTER_CHECK((plan->previous_rank() + 1) % plan->size() == plan->rank, "a ring");
  const Fault fault{plan->rank, plan->next_rank(), FaultKind::kRefused, plan->rank, 0, "why"};
  MUSTER_CHECK(!FaultText(*plan, fault).empty(), "a fault has a text");
}

}  // namespace
}  // namespace muster::ring

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  muster::ring::Check(text, std::nullopt);
  muster::ring::Check(text, 0);
  muster::ring::Check(text, 1);
  return 0;
}
