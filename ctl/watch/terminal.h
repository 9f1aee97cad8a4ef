// The terminal as a full screen, for `ms-ctl watch`. Keys arrive one by one. When the program ends, also by a signal,
// the terminal shows its former content again. Use only one Terminal in a process, in its main thread.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::ctl {

// True if standard input and output are a terminal that can show a full screen.
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
  // True if the screen must be drawn again, because its size has changed or the program was stopped (Ctrl-Z). Returns
  // true only once for each such event.
  bool TakeDamage();
  // Waits up to `patience` for typed bytes and appends them to `bytes`. Returns early if the size has changed. False:
  // the input has ended.
  bool Read(std::string& bytes, absl::Duration patience);
};

}  // namespace muster::ctl
