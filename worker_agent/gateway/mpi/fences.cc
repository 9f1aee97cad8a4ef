#include "worker_agent/gateway/mpi/fences.h"

#include <utility>

#include "absl/time/time.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFirstLimit = absl::Minutes(10);

}  // namespace

Fences::Fences(const RoundLayout& layout, JobStore& store, const Clock& clock, std::string name)
    : allgather_(store, clock, std::move(name), layout.own, static_cast<uint32_t>(layout.agents.size())) {}

Fences::~Fences() { inbox_->gathered.Close(); }

void Fences::Start(std::string bundle) {
  const absl::Duration limit = std::exchange(had_one_, true) ? absl::InfiniteDuration() : kFirstLimit;
  allgather_.Start(std::move(bundle), limit,
                   [inbox = inbox_](Gathered gathered) { inbox->gathered.Push(std::move(gathered)); });
}

}  // namespace muster::agent
