// Signals as a readable descriptor, by a handler rather than a signalfd: one that shall end the program is noted
// (NoteEndSignal in program.h) also while whoever reads this hangs.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "common/base/unique_fd.h"

namespace muster {

// At most one lives at a time.
class SignalPipe {
 public:
  // Calls to the system that a signal interrupts go on, but for those that only wait.
  SignalPipe();
  // They are ignored from then on: nothing is left that could be ended in good order.
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  // From now on these come here. Of those that `ends` the program the first one starts the clock of the last resort.
  void Handle(std::initializer_list<int> signals, bool ends);
  // These do again what they do by default.
  void LetKill(std::initializer_list<int> signals);

  int fd() const { return out_.get(); }
  // The next one that has come, without waiting.
  std::optional<int> Take();

 private:
  UniqueFd out_;
  UniqueFd in_;
  std::vector<int> handled_;
};

}  // namespace muster
