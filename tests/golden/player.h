// Plays a script against a real core and checks the invariants after every step.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/core.h"
#include "tests/golden/script.h"

namespace muster::golden {

// Checks more than the core's own CheckInvariants: nothing is sent on a stream that was never opened or is closed,
// terms never fall, and a second core that recovers from the records alone reaches the same state.
class Player {
 public:
  // Returns the lines of the reaction. An invalid command, and an invariant that the core breaks, go to problems().
  std::vector<std::string> Do(Command command);

  const std::vector<std::string>& problems() const { return problems_; }

  // The records written so far, and the state that they give.
  const std::vector<v1::Record>& records() const { return records_; }
  v1::Record TakeSnapshot() const { return core_->TakeSnapshot(); }

 private:
  std::vector<std::string> Begin(Command& command);
  std::vector<std::string> Restart();
  std::vector<std::string> MoveTo(absl::Duration when);
  std::vector<std::string> Apply(const scheduler::Event& event);
  void Check(const scheduler::Effects& effects);
  Now NowAt() const;

  scheduler::CoreOptions options_;
  std::unique_ptr<scheduler::Core> core_;
  std::vector<v1::Record> records_;
  std::set<uint64_t> open_;  // streams
  uint64_t term_ = 0;
  uint64_t query_ = 0;
  absl::Duration now_;
  std::vector<std::string> problems_;
};

}  // namespace muster::golden
