// The data that another agent may put into the job's store for a fence, and that ms-pmix may write to its agent. The
// first byte chooses the reader: the first agent, another one, the agent of ms-pmix, or a request for what one rank has
// put.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/store/memory_job_store.h"
#include "tests/fuzz/input.h"
#include "worker_agent/gateway/chassis/allgather.h"
#include "worker_agent/gateway/mpi/pmix/asked_of_agents.h"
#include "worker_agent/gateway/mpi/pmix/frames.h"

namespace muster::agent {
namespace {

constexpr uint32_t kAgents = 3;

void PlayFence(uint32_t own, FuzzInput input) {
  MemoryJobStore store(Clock::System());
  const std::vector<std::string> names =
      own == 0 ? std::vector<std::string>{"1", "2"} : std::vector<std::string>{"all"};
  for (const std::string& name : names) {
    for (uint32_t piece = 0, pieces = input.Byte() % 4; piece < pieces; ++piece) {
      const std::string key = "fence/0/" + name + "/" + std::to_string(piece);
      store.Set(key, input.Text().substr(0, kMaxStoreValueBytes), Lifetime::kRound, [](const absl::Status&) {});
    }
  }
  int calls = 0;
  Allgather allgather(store, Clock::System(), "fence", own, kAgents);
  // If a part is missing, the fence ends only with the store.
  allgather.Start("own", absl::Minutes(1), [&](const absl::StatusOr<Allgather::Blobs>& blobs) {
    ++calls;
    if (blobs.ok()) MUSTER_CHECK(blobs->size() == kAgents, "a blob of each agent");
  });
  MUSTER_CHECK(calls <= 1, "it is done once");
}

void PlayFrames(FuzzInput input) {
  std::string buffer;
  bool is_broken = false;
  while (!input.IsAtEnd() && !is_broken) {
    buffer += input.Text();
    while (const std::optional<pmix::Frame> frame = pmix::TakeFrame(buffer, is_broken)) {
      MUSTER_CHECK(frame->bytes.size() <= pmix::kMaxFrameBytes, "frames have a limit");
    }
  }
}

}  // namespace
}  // namespace muster::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::FuzzInput input(data, size);
  const uint8_t kind = input.Byte() % 4;
  if (kind == 3) {
    const std::string bundle = input.Rest();
    const auto put = muster::agent::PutBy(7, bundle);
    MUSTER_CHECK(!put.ok() || put->size() < bundle.size(), "a part of it");
  } else if (kind == 2) {
    muster::agent::PlayFrames(input);
  } else {
    muster::agent::PlayFence(kind, input);
  }
  return 0;
}
