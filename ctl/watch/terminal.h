// The terminal as a screen of its own, for `watch`. Keys arrive one by one. Every end of the program, also by a signal,
// restores what was on the terminal. Once in a process, in its main thread.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::ctl {

// True if standard input and output are a terminal that can do it.
bool IsScreen();

class Terminal {
 public:
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    size_t columns = 80;
    size_t rows = 24;
  };
  Size size() const;
  void Write(const std::string& text);
  // Returns, once for each change, true if the screen may differ from what was written last: the size has changed, or
  // the program was stopped.
  bool TakeDamage();
  // Appends what was typed. Returns early if the size has changed. False: the input has ended.
  bool Read(std::string& bytes, absl::Duration patience);
};

}  // namespace muster::ctl
