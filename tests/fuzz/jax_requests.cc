// Requests of JAX's processes to their agents, in both dialects, some of which are cancelled. Two agents of a round
// share a store, while time passes. Each request gets at most one answer, and has one by the end of the round.
//
// The input is a list of steps: one byte (what: a method and a dialect, or time, or a cancel), then the step's data.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/store/memory_job_store.h"
#include "tests/fuzz/input.h"
#include "worker_agent/gateway/jax/coordination.h"
#include "worker_agent/gateway/jax/request.h"

namespace muster::jax {
namespace {

constexpr int kMaxSteps = 200;
constexpr uint8_t kTime = 250, kCancel = 251, kEnded = 252;

class FuzzClock final : public Clock {
 public:
  Now Read() const override { return {MonotonicTime::FromNanoseconds(1) + now_, {1'800'000'000'000}}; }
  void Advance(absl::Duration time) { now_ += time; }

 private:
  absl::Duration now_;
};

class Round {
 public:
  Round() {
    for (size_t agent = 0; agent < 2; ++agent) {
      agent::TaskLayout layout;
      layout.agents = {{0, 1}, {2}};
      layout.hosts = {"one", "two"};
      layout.own = agent;
      agents_[agent] = std::make_unique<Coordination>(
          store_, clock_, [this](std::function<void()> step) { steps_.push_back(std::move(step)); }, layout, 7);
    }
  }

  void Step(FuzzInput& input) {
    const uint8_t what = input.Byte();
    if (what == kTime) {
      clock_.Advance(absl::Milliseconds(input.U16()));
      store_.Tick();
      for (auto& agent : agents_) agent->Tick();
    } else if (what == kCancel) {
      const size_t which = input.Byte();
      if (which < asked_.size()) asked_[which].held->Complete(absl::CancelledError("its asker has gone"));
    } else if (what == kEnded) {
      const int32_t task = input.Byte() % 3;
      agents_[task == 2 ? 1 : 0]->Ended(task);
    } else {
      Ask(what, input.Text());
    }
    Run();
  }

  void End() {
    for (auto& agent : agents_) agent->End("it is over");
    Run();
    for (const Asked& asked : asked_) MUSTER_CHECK(asked.answers == 1, "all are answered");
  }

 private:
  struct Asked {
    SharedHeld held;
    int answers = 0;
  };

  void Ask(uint8_t what, const std::string& bytes) {
    const Call call{what % 2 == 0 ? Dialect::kOld : Dialect::kNew,
                    static_cast<Method>(what / 2 % (static_cast<int>(Method::kWatchStates) + 1))};
    absl::StatusOr<Request> request = ReadRequest(call, bytes);
    if (!request.ok()) return;
    Asked& asked = asked_.emplace_back();
    asked.held = std::make_shared<HeldRequest>([&asked, call](const absl::StatusOr<Reply>& reply) {
      MUSTER_CHECK(++asked.answers == 1, "a request is answered once");
      if (reply.ok()) static_cast<void>(WriteReply(call, *reply));
    });
    agents_[what >= 128 ? 1 : 0]->Handle(*std::move(request), asked.held);
  }

  void Run() {
    for (int i = 0; i < 10'000 && !steps_.empty(); ++i) {
      const auto step = std::move(steps_.front());
      steps_.pop_front();
      step();
    }
    MUSTER_CHECK(steps_.empty(), "it comes to rest");
  }

  FuzzClock clock_;
  std::deque<Asked> asked_;
  std::deque<std::function<void()>> steps_;
  std::unique_ptr<Coordination> agents_[2];
  MemoryJobStore store_{clock_};  // answers the waiting calls when it is destroyed
};

}  // namespace
}  // namespace muster::jax

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::FuzzInput input(data, size);
  muster::jax::Round round;
  for (int i = 0; i < muster::jax::kMaxSteps && !input.IsAtEnd(); ++i) round.Step(input);
  round.End();
  return 0;
}
