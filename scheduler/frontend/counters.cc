#include "scheduler/frontend/counters.h"

namespace muster::scheduler {
namespace {

void DescribeTls(const TlsState& state, v1::CountersReply& reply) {
  reply.set_certificate_ends_unix_ms(absl::ToUnixMillis(state.OwnEnd()));
  reply.set_certificate_fingerprint(state.identity->leaf().Fingerprint());
  const absl::Time list_end = state.FirstListEnd();
  if (list_end != absl::InfiniteFuture()) reply.set_revocation_list_ends_unix_ms(absl::ToUnixMillis(list_end));
}

}  // namespace

v1::CountersReply CountersOf(const ServiceContext& services) {
  v1::CountersReply reply;
  for (const auto& [name, value] : services.counted.Counts()) {
    v1::Counter& counter = *reply.add_counters();
    counter.set_name(name);
    counter.set_value(value);
  }
  if (services.tls != nullptr) DescribeTls(*services.tls->Current(), reply);
  return reply;
}

}  // namespace muster::scheduler
