// The terminal as a screen of its own, for `watch`: keys come one by one, and what stood there before comes back at
// every end of the program, also by a signal. Once in a process, in its main thread.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::ctl {

// Standard input and output are one that can do it.
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
  // Whether what stands there may be another thing than what was written last: the size has changed, or the program was
  // stopped. Once for each time.
  bool TakeDamage();
  // Appends what was typed. Returns early when the size has changed. False: nobody types any more.
  bool Read(std::string& bytes, absl::Duration patience);
};

}  // namespace muster::ctl
