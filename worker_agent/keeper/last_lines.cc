#include "worker_agent/keeper/last_lines.h"

#include <utility>

#include "common/limits.h"

namespace muster::agent {
namespace {

// More than what is shown, since escape sequences are taken out later.
constexpr size_t kMaxRawLineBytes = 4 * kMaxLastLineBytes;

// Where the last kMaxLastLines complete lines of `bytes` begin; npos when there are fewer.
size_t BeginOfLastLines(std::string_view bytes) {
  size_t position = bytes.size();
  for (size_t i = 0; i <= kMaxLastLines; ++i) {
    if (position == 0) return std::string_view::npos;
    position = bytes.rfind('\n', position - 1);
    if (position == std::string_view::npos) return position;
  }
  return position + 1;
}

}  // namespace

LastLines::LastLines()
    : splitters_{LineSplitter(kMaxRawLineBytes, LineSplitter::Overlong::kTruncate),
                 LineSplitter(kMaxRawLineBytes, LineSplitter::Overlong::kTruncate)} {}

void LastLines::Feed(size_t stream, std::string_view bytes) {
  LineSplitter& splitter = splitters_.at(stream);
  // A process that writes much shall cost little: only lines that can remain are looked at.
  if (size_t begin = BeginOfLastLines(bytes); begin != std::string_view::npos) {
    splitter.Reset();
    bytes.remove_prefix(begin);
  }
  splitter.Feed(bytes, [this](std::string&& line) { Keep(std::move(line)); });
}

void LastLines::Keep(std::string&& line) {
  lines_.push_back(std::move(line));
  if (lines_.size() > kMaxLastLines) lines_.pop_front();
}

std::vector<std::string> LastLines::Take() {
  for (LineSplitter& splitter : splitters_) {
    splitter.Finish([this](std::string&& line) { Keep(std::move(line)); });
  }
  std::vector<std::string> clean;
  for (const std::string& line : lines_) clean.push_back(CleanText(line, kMaxLastLineBytes));
  return clean;
}

}  // namespace muster::agent
