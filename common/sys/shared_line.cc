// When `writer` may write:
//
//   no line is open; no other process waits        at once
//   no line is open; another process waits first   after kLinePatience: that process is dead or stopped
//   its own line is open                           at once
//   another process's line is open                 after kLinePatience
//   another process is writing right now           after kStuckPatience, even on a slow machine
#include "common/sys/shared_line.h"

#include <sys/mman.h>

#include <new>

namespace muster {
namespace {

constexpr uint64_t Open(uint64_t writer) { return writer << 1; }
constexpr uint64_t Writing(uint64_t writer) { return writer << 1 | 1; }
constexpr bool IsWriting(uint64_t state) { return (state & 1) != 0; }

SharedLine*& TheLine() {
  static SharedLine* line = []() -> SharedLine* {
    void* memory = mmap(nullptr, sizeof(SharedLine), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) SharedLine;
  }();
  return line;
}

}  // namespace

SharedLine* SharedLine::OfStderr() { return TheLine(); }
void SharedLine::LeaveStderr() { TheLine() = nullptr; }

SharedLine::Taken SharedLine::Take(uint64_t writer, absl::Duration waited) {
  uint64_t state = state_;
  const uint64_t next = next_;
  const bool is_own = state == Open(writer);
  bool may = waited >= (IsWriting(state) ? kStuckPatience : kLinePatience);
  if (state == 0) may = may || next == 0 || next == writer;
  const bool is_in_the_middle = state != 0 && !is_own;
  if ((may || is_own) && state_.compare_exchange_strong(state, Writing(writer))) {
    if (!is_own) next_ = 0;
    return is_in_the_middle ? Taken::kInTheMiddle : Taken::kYes;
  }
  uint64_t none = 0;
  next_.compare_exchange_strong(none, writer);
  return Taken::kNo;
}

void SharedLine::Release(uint64_t writer, bool ends_line) {
  uint64_t state = Writing(writer);
  state_.compare_exchange_strong(state, ends_line ? 0 : Open(writer));
}

}  // namespace muster
