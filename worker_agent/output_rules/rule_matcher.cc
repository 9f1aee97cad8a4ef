#include "worker_agent/output_rules/rule_matcher.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace muster::agent {
namespace {

constexpr size_t kBytesPerLook = 4096;  // between two looks at the clock
constexpr char kLineEnds[] = "\r\n";

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
  const size_t last = bytes.find_last_of(kLineEnds);
  if (last == std::string_view::npos) {
    Append(into, bytes);
    return time_.End();
  }
  // The first line may have begun earlier, and the last one has not ended.
  const size_t first = bytes.find_first_of(kLineEnds);
  Append(into, bytes.substr(0, first));
  EndLine(into);
  LookAtLines(bytes.substr(first + 1, last - first));
  Append(into, bytes.substr(last + 1));
  time_.End();
}

void RuleMatcher::LookAtLines(std::string_view lines) {
  const bool are_bars = lines.find('\r') != std::string_view::npos;
  while (!lines.empty()) {
    if (!time_.IsLeft()) {
      found_.unseen += static_cast<uint64_t>(std::count(lines.begin(), lines.end(), are_bars ? lines.back() : '\n'));
      return;
    }
    const size_t end = lines.find_first_of(kLineEnds, std::min(kBytesPerLook, lines.size() - 1));
    const std::string_view part = lines.substr(0, end + 1);
    lines.remove_prefix(part.size());
    for (size_t at = 0; at < part.size();) {
      const std::optional<std::string_view> line =
          are_bars ? part.substr(at, part.find_first_of(kLineEnds, at) - at) : rules_->NextMatch(part, at);
      if (!line) break;
      Look(*line);
      at = static_cast<size_t>(line->data() - part.data()) + line->size() + 1;
    }
    time_.End();
  }
}

void RuleMatcher::Finish() {
  time_.Begin();
  for (Stream& stream : streams_) EndLine(stream);
  time_.End();
}

void RuleMatcher::Append(Stream& stream, std::string_view bytes) {
  if (stream.line.size() + bytes.size() > kMaxLineBytes) {
    stream.is_overlong = true;
    stream.line.clear();
  }
  if (!stream.is_overlong) stream.line += bytes;
}

void RuleMatcher::EndLine(Stream& stream) {
  if (std::exchange(stream.is_overlong, false) || (!time_.IsLeft() && !stream.line.empty())) {
    ++found_.unseen;
  } else {
    Look(stream.line);
  }
  stream.line.clear();
}

void RuleMatcher::Look(std::string_view line) {
  if (line.empty()) return;
  if (line.size() > kMaxLineBytes || IsBinary(line)) {
    ++found_.unseen;
    return;
  }
  LineFinding finding = rules_->Look(line);
  if (finding.is_failure && failure_.empty()) failure_ = std::string(line);
  if (!finding.is_expected) return;
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
