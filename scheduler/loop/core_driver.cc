// Loop's constructor for the real core, separate from loop.cc so that tests of the loop alone need not link the core.
#include <utility>

#include "scheduler/loop/loop.h"

namespace muster::scheduler {
namespace {

class RealCore : public CoreDriver {
 public:
  explicit RealCore(Core& core) : core_(core) {}
  void Recover(const v1::Record& record) override { core_.Recover(record); }
  absl::Status CheckRecovered() const override { return core_.CheckRecovered(); }
  Effects Start(Now now) override { return core_.Start(now); }
  Effects Apply(const Event& event, Now now) override { return core_.Apply(event, now); }
  JournalSnapshot TakeSnapshot() const override {
    Core::LaterSnapshot later = core_.TakeSnapshotLater();
    return JournalSnapshot(std::move(later.make), later.bytes);
  }
  MonotonicTime NextDeadline() const override { return core_.NextDeadline(); }

 private:
  Core& core_;
};

}  // namespace

Loop::Loop(Core& core, Journal& journal, EffectSink& sink, const Clock& clock, Options options)
    : Loop(std::make_unique<RealCore>(core), journal, sink, clock, options) {}

}  // namespace muster::scheduler
