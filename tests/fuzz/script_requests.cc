// A script's requests to its agent, line by line, up to a store. The first byte decides whether rank 0 is this agent's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>

#include "common/base/check.h"
#include "common/store/memory_job_store.h"
#include "tests/unit/common/manual_clock.h"
#include "worker_agent/gateway/script_store/operations.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  if (size == 0) return 0;
  ManualClock clock;
  std::deque<std::function<void()>> steps;  // must outlive the store, which answers all waiting calls at its end
  MemoryJobStore store(clock);
  agent::TaskLayout layout;
  layout.agents = {{0, 1}, {2}};
  layout.hosts = {"one", "two"};
  layout.own = data[0] % 2;
  script_store::Operations operations(
      store, clock, [&steps](std::function<void()> step) { steps.push_back(std::move(step)); }, layout);
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto answered = [](const std::string& line) {
    MUSTER_CHECK(!line.empty() && line.find('\n') == line.size() - 1, "an answer is one line");
  };
  const auto run = [&steps] {
    for (; !steps.empty(); steps.pop_front()) steps.front()();
  };
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const absl::StatusOr<script_store::Request> request = script_store::ReadRequest(bytes.substr(0, end));
    if (request.ok()) {
      operations.Handle(*request, answered);
    } else {
      answered(script_store::ErrorLine(request.status()));
    }
    run();
    clock.Advance(absl::Seconds(1));
    store.Tick();
    operations.Tick();
    run();
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  return 0;
}
