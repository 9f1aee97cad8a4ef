// Remote commands: requests, answers and frames from a hostile process or agent. The first byte chooses among them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "worker_agent/gateway/exec/frames.h"
#include "worker_agent/gateway/exec/request.h"

namespace muster::exec {
namespace {

void PlayRequest(std::string_view bytes) {
  const std::string_view all = bytes;
  const absl::StatusOr<std::optional<Request>> request = TakeRequest(bytes);
  if (!request.ok() || !request->has_value()) return;
  MUSTER_CHECK((*request)->words.size() <= kMaxWordsBytes, "words have a limit");
  const absl::StatusOr<std::string> again = RequestBytes(**request);
  MUSTER_CHECK(again.ok() && *again == all.substr(0, all.size() - bytes.size()), "it goes out as it came");
}

void PlayFrames(std::string_view bytes) {
  FrameReader reader;
  while (!bytes.empty() && !reader.is_broken()) {
    const size_t size = 1 + static_cast<uint8_t>(bytes.front());
    reader.Add(bytes.substr(0, size));
    while (const std::optional<Frame> frame = reader.Take()) {
      MUSTER_CHECK(frame->bytes.size() <= kMaxFrameBytes, "frames have a limit");
    }
    bytes.remove_prefix(std::min(size, bytes.size()));
  }
}

}  // namespace
}  // namespace muster::exec

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.empty()) return 0;
  const char kind = bytes.front();
  bytes.remove_prefix(1);
  if (kind == 'f') {
    muster::exec::PlayFrames(bytes);
  } else if (kind == 'a') {
    (void)muster::exec::TakeAnswer(bytes).ok();
  } else {
    muster::exec::PlayRequest(bytes);
  }
  return 0;
}
