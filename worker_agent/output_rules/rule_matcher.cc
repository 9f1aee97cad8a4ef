#include "worker_agent/output_rules/rule_matcher.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster::agent {
namespace {

constexpr size_t kLinesPerLook = 64;  // between two looks at the clock

std::optional<uint64_t> WholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

bool IsBinary(std::string_view line) { return line.find('\0') != std::string_view::npos; }

}  // namespace

void MatchTime::Begin() {
  began_ = clock_.Read().monotonic;
  left_ = std::min(kMost, left_ + (began_ - earned_until_) / kShare);
  earned_until_ = began_;
}

void MatchTime::End() {
  const MonotonicTime now = clock_.Read().monotonic;
  left_ -= now - began_;
  began_ = earned_until_ = now;
}

void RuleMatcher::Feed(size_t stream, std::string_view bytes) {
  Stream& into = streams_.at(stream);
  time_.Begin();
  size_t lines = 0;
  while (!bytes.empty()) {
    const size_t length = bytes.find_first_of("\r\n");
    Append(into, bytes.substr(0, length));
    if (length == std::string_view::npos) break;
    EndLine(into);
    bytes.remove_prefix(length + 1);
    if (++lines % kLinesPerLook == 0) {
      time_.End();
      if (!time_.IsLeft()) {
        // The rest of this part is only counted. Its last line stays, since its end may come later.
        const size_t last = bytes.find_last_of("\r\n");
        const size_t ended = last == std::string_view::npos ? 0 : last + 1;
        found_.unseen +=
            static_cast<uint64_t>(std::count(bytes.begin(), bytes.begin() + static_cast<long>(ended), '\n'));
        Append(into, bytes.substr(ended));
        return;
      }
    }
  }
  time_.End();
}

void RuleMatcher::Finish() {
  for (Stream& stream : streams_) EndLine(stream);
}

void RuleMatcher::Append(Stream& stream, std::string_view bytes) {
  if (stream.line.size() + bytes.size() > kMaxLineBytes) {
    stream.is_overlong = true;
    stream.line.clear();
  }
  if (!stream.is_overlong) stream.line += bytes;
}

void RuleMatcher::EndLine(Stream& stream) {
  const bool is_overlong = std::exchange(stream.is_overlong, false);
  if (is_overlong || IsBinary(stream.line) || (!time_.IsLeft() && !stream.line.empty())) {
    ++found_.unseen;
  } else if (!stream.line.empty()) {
    Look(stream.line);
  }
  stream.line.clear();
}

void RuleMatcher::Look(std::string_view line) {
  LineFinding finding = rules_->Look(line);
  if (finding.is_failure && failure_.empty()) failure_ = std::string(line);
  if (!finding.is_expected) return;
  ++found_.matches;
  if (finding.format != nullptr) found_.format = finding.format;
  if (!finding.number) {
    ++found_.changes;
    return;
  }
  if (*finding.number == last_number_) return;
  ++found_.changes;
  last_number_ = *std::move(finding.number);
  found_.step = WholeNumber(last_number_);
}

}  // namespace muster::agent
