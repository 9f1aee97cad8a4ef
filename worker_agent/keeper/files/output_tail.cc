// What a reader gets, by its place:
//
//   0                             the last lines that are still here; has_gap if there were more
//   within what is still here     what came since, or its last lines
//   before that                   the last lines, with has_gap
//   beyond the end                nothing: it is no place of this process
#include "worker_agent/keeper/files/output_tail.h"

#include <algorithm>
#include <deque>

#include "worker_agent/keeper/text.h"

namespace muster::agent {

void OutputTail::Feed(std::string_view bytes) {
  total_ += bytes.size();
  bytes_ += bytes.substr(bytes.size() - std::min(bytes.size(), kMaxBytes));
  if (bytes_.size() > 2 * kMaxBytes) bytes_.erase(0, bytes_.size() - kMaxBytes);
}

OutputPart OutputTail::Read(uint64_t after, uint32_t lines) const {
  std::string_view kept = bytes_;
  if (kept.size() > kMaxBytes) kept.remove_prefix(kept.size() - kMaxBytes);
  const uint64_t first = total_ - kept.size();
  OutputPart part;
  if (after > first) {
    kept.remove_prefix(std::min<uint64_t>(after - first, kept.size()));
  } else if (after < first) {  // the first line that is still here has lost its beginning
    const size_t line_end = kept.find('\n');
    if (line_end != std::string_view::npos) kept.remove_prefix(line_end + 1);
    part.has_gap = true;
  }
  const size_t last_end = kept.rfind('\n');
  const size_t whole = last_end == std::string_view::npos ? 0 : last_end + 1;
  part.end = std::max(after, total_ - (kept.size() - whole));

  std::deque<std::string> shown;
  LineSplitter splitter(kMaxLogLineBytes, LineSplitter::Overlong::kTruncate);
  splitter.Feed(kept.substr(0, whole), [&](std::string&& line) {
    shown.push_back(std::move(line));
    if (shown.size() <= lines) return;
    shown.pop_front();
    part.has_gap = true;
  });
  for (const std::string& line : shown) part.text += CleanText(line, kMaxLogLineBytes) + '\n';
  splitter.Reset();
  splitter.Feed(kept.substr(whole), [](std::string&&) {});
  splitter.Finish([&](std::string&& line) { part.unfinished = CleanText(line, kMaxLogLineBytes); });
  return part;
}

}  // namespace muster::agent
