// HTTP/2 from a hostile client: the guard on frames finds the same breach no matter how the bytes are cut. The first
// byte is the size of the pieces (0: one piece).
#include "common/net/http2/frame_guard.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/check.h"

namespace muster {
namespace {

// Returns the breach that the bytes cause in the end, if the client waits as long as it is paused.
const char* FinalBreach(std::string_view bytes, size_t part) {
  FrameGuard guard;
  MonotonicTime now = MonotonicTime::FromNanoseconds(1'000'000'000);
  for (size_t at = 0; at < bytes.size();) {
    now = std::max(now, guard.paused_until());
    const FrameGuard::Taken taken = guard.Take(bytes.substr(at, part), now);
    if (taken.breach.has_value()) {
      MUSTER_CHECK(!taken.breach->text.empty(), "a breach says nothing");
      return taken.breach->kind;
    }
    MUSTER_CHECK(taken.bytes > 0, "it takes nothing, and is not paused");
    at += taken.bytes;
  }
  return "none";
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using muster::FinalBreach;
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t part = data[0] == 0 ? bytes.size() : data[0];
  MUSTER_CHECK(std::string_view(FinalBreach(bytes, part)) == FinalBreach(bytes, bytes.size()),
               "the cuts change the breach");
  return 0;
}
