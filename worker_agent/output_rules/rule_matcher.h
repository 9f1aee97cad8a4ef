// Matches the output of one process, line by line, with the rules. One thread: the keeper's.
//
// A line ends at '\n' or '\r', so that each state of a progress bar is a line. Some lines are not matched and count as
// unseen: those for which MatchTime leaves no time, and binary or overlong ones (kMaxLineBytes) that seem to match.
//
// What counts as progress: a captured number that differs from the one before. It may be lower: tqdm's and Trainer's
// numbers begin again with each epoch. If a rule has no group, each of its matches is progress.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "worker_agent/output_rules/output_rules.h"

namespace muster::agent {

// The time that matching may take, for all processes of a keeper together: a share of one processor, and so little at
// once that the fence and the ends of processes are not handled late because of it.
class MatchTime {
 public:
  static constexpr absl::Duration kMost = absl::Milliseconds(10);
  static constexpr int kShare = 2;  // the inverse of the share of one processor

  explicit MatchTime(const Clock& clock) : clock_(clock) {}

  bool IsLeft() const { return left_ > absl::ZeroDuration(); }
  // Begins and ends a piece of work.
  void Begin();
  void End();

 private:
  const Clock& clock_;
  absl::Duration left_ = kMost;
  MonotonicTime earned_until_;
  MonotonicTime began_;
};

class RuleMatcher {
 public:
  static constexpr size_t kMaxLineBytes = 4096;

  struct Found {
    uint64_t changes = 0;          // matches of --expect that count as progress
    uint64_t unseen = 0;           // lines that were not matched
    std::optional<uint64_t> step;  // the last captured number, if it is a whole one
    const char* format = nullptr;  // the trainer that --expect auto has recognised; null: none yet

    bool operator==(const Found&) const = default;
  };

  // `time` must outlive this.
  RuleMatcher(std::shared_ptr<const OutputRules> rules, MatchTime& time) : rules_(std::move(rules)), time_(time) {}

  // Takes the next bytes of a stream: 0 or 1.
  void Feed(size_t stream, std::string_view bytes);
  // Call it at the end of the output: matches last lines that have no line feed.
  void Finish();

  const Found& found() const { return found_; }
  // Returns the first line that a rule of --fail_on matches, as it came; empty: none has.
  const std::string& failure() const { return failure_; }

 private:
  struct Stream {
    std::string line;          // the one that has not ended yet
    bool is_overlong = false;  // it is beyond kMaxLineBytes: the rest is skipped
  };

  void Append(Stream& stream, std::string_view bytes);
  // Looks at whole lines.
  void LookAtLines(std::string_view lines);
  void EndLine(Stream& stream);
  void Look(std::string_view line);

  const std::shared_ptr<const OutputRules> rules_;
  MatchTime& time_;
  std::array<Stream, 2> streams_;
  Found found_;
  std::string last_number_;
  std::string failure_;
};

}  // namespace muster::agent
