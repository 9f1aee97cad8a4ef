// Delivers signals through a readable descriptor. Uses a handler instead of a signalfd, so that a signal that ends the
// program is noted (NoteEndSignal in program.h) even while the reading thread hangs.
#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "common/base/unique_fd.h"

namespace muster {

// A process must have at most one at a time.
class SignalPipe {
 public:
  // A signal does not make system calls fail, except calls that only wait.
  SignalPipe();
  // From then on the signals are ignored, because nothing is left that must end in good order.
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  // From now on, Take returns these signals. With `ends`, the first of them also starts the last resort (program.h).
  void Handle(std::initializer_list<int> signals, bool ends);
  // Restores these signals' default actions.
  void LetKill(std::initializer_list<int> signals);

  int fd() const { return out_.get(); }
  // Returns the next signal that has come; nullopt if there is none. Never waits.
  std::optional<int> Take();

 private:
  UniqueFd out_;
  UniqueFd in_;
  std::vector<int> handled_;
};

}  // namespace muster
