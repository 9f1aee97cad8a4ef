// The output that a reader gets. It depends on `after`, the position up to which the reader has the output already:
//
//   0                             the last lines; has_gap if earlier ones are not returned
//   within the kept bytes         the lines after it, or the last of these
//   before the kept bytes         the last lines, with has_gap
//   beyond the end                nothing: the process has not written so much
//
// The beginning of a line may no longer be kept. The rest can still be shown if a '\r' has started the line over since,
// as in a progress bar.
#include "worker_agent/keeper/files/output_tail.h"

#include <algorithm>
#include <deque>

#include "worker_agent/keeper/text.h"

namespace muster::agent {

namespace {

// Returns true if a '\r' starts a line over within `line`, which is the rest of it. A '\r' just before the line's end
// does not count.
bool BeginsAnew(std::string_view line) {
  const size_t last = line.find_last_not_of('\r');
  return last != std::string_view::npos && line.substr(0, last).find('\r') != std::string_view::npos;
}

}  // namespace

void OutputTail::Feed(std::string_view bytes) {
  total_ += bytes.size();
  bytes_ += bytes;
  if (bytes_.size() <= 2 * kMaxBytes) return;
  const size_t forgotten = bytes_.size() - kMaxBytes;
  line_start_ = LineStartOf(forgotten);
  bytes_.erase(0, forgotten);
}

uint64_t OutputTail::LineStartOf(size_t byte) const {
  const size_t line_end = std::string_view(bytes_).substr(0, byte).rfind('\n');
  return line_end == std::string_view::npos ? line_start_ : total_ - bytes_.size() + line_end + 1;
}

OutputPart OutputTail::Read(uint64_t after, uint32_t lines) const {
  const size_t unread = bytes_.size() - std::min(bytes_.size(), kMaxBytes);
  std::string_view kept = std::string_view(bytes_).substr(unread);
  const uint64_t first = total_ - kept.size();
  OutputPart part;
  if (after > first) {
    kept.remove_prefix(std::min<uint64_t>(after - first, kept.size()));
  } else if (after < first) {
    const uint64_t line_start = LineStartOf(unread);
    part.has_gap = after < line_start;
    const size_t line_end = kept.find('\n');
    if (line_start < first && line_end != std::string_view::npos && !BeginsAnew(kept.substr(0, line_end))) {
      kept.remove_prefix(line_end + 1);
      part.has_gap = true;
    }
  }
  const size_t last_end = kept.rfind('\n');
  const size_t whole = last_end == std::string_view::npos ? 0 : last_end + 1;
  part.end = whole == 0 ? after : total_ - (kept.size() - whole);

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
