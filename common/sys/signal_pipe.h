// Signals as a readable descriptor. Uses a handler, not a signalfd: so a signal that ends the program is noted
// (NoteEndSignal in program.h) even while the reading thread hangs.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "common/base/unique_fd.h"

namespace muster {

// A process has at most one at a time.
class SignalPipe {
 public:
  // System calls interrupted by a signal go on, except those that only wait.
  SignalPipe();
  // The signals are ignored from then on: nothing is left to end in good order.
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  // Routes these signals here from now on. If `ends`, the first of them starts the clock of the last resort.
  void Handle(std::initializer_list<int> signals, bool ends);
  // Restores these signals' default actions.
  void LetKill(std::initializer_list<int> signals);

  int fd() const { return out_.get(); }
  // Returns the next signal that has come, without waiting.
  std::optional<int> Take();

 private:
  UniqueFd out_;
  UniqueFd in_;
  std::vector<int> handled_;
};

}  // namespace muster
