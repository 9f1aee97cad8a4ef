// Lines that hostile ranks may send to the agent's PMI-1 server, and data that another agent may give to a fence. The
// first byte of each line chooses its sender.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "worker_agent/gateway/mpi/pmi1.h"

namespace muster::agent {
namespace {

constexpr uint32_t kSlots = 2;

RoundLayout Layout() {
  RoundLayout layout;
  layout.id = "1";
  layout.machines = 2;
  layout.agents.resize(2);
  for (uint32_t agent = 0; agent < 2; ++agent) {
    layout.agents[agent].machine = agent;
    for (uint32_t slot = 0; slot < kSlots; ++slot) layout.agents[agent].ranks.push_back(agent + 2 * slot);
  }
  return layout;
}

void Check(const Pmi1::Step& step) {
  for (const Pmi1::Reply& reply : step.replies) {
    MUSTER_CHECK(reply.slot < kSlots, "a rank of this agent");
    MUSTER_CHECK(reply.line.find('\n') == reply.line.size() - 1, "one line");
    MUSTER_CHECK(reply.line.size() <= Pmi1::kMaxLineBytes + 64, "answers are bounded");
  }
}

}  // namespace
}  // namespace muster::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::agent;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Pmi1 pmi(Layout());
  bool is_served[kSlots] = {true, true};
  std::string fence;
  bool has_fence = false;
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.empty() || line.size() > Pmi1::kMaxLineBytes) continue;
    const uint32_t slot = static_cast<uint8_t>(line.front()) % 4;
    if (slot >= kSlots) {  // the other agent's part; its end completes the fence
      fence.append(line.substr(1)).push_back('\n');
      if (slot == 3 && has_fence) {
        Check(pmi.Gathered(std::vector<std::string>{fence, "own=1\n"}));
        fence.clear();
        has_fence = false;
      }
      continue;
    }
    if (!is_served[slot]) continue;
    const absl::StatusOr<Pmi1::Step> step = pmi.OnLine(slot, {line.data() + 1, line.size() - 1});
    is_served[slot] = step.ok();
    if (!step.ok()) {
      MUSTER_CHECK(!pmi.progress(slot).error.empty(), "why is kept");
      continue;
    }
    Check(*step);
    MUSTER_CHECK(!step->has_fence || !has_fence, "one fence at a time");
    has_fence = has_fence || step->has_fence;
    MUSTER_CHECK(step->bundle.size() <= kSlots * Pmi1::kMaxPutsOfRank * Pmi1::kMaxLineBytes, "bundles are bounded");
  }
  return 0;
}
