// The state that all parts of one simulated run share: its clock, its parameters, its trace, its outcome.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "scheduler/core/state/events.h"
#include "tests/sim/parameters.h"
#include "tests/sim/timeline.h"

namespace muster::sim {

using scheduler::StreamId;

class Sim {
 public:
  Sim(const Parameters& drawn, bool is_verbose) : parameters(drawn), is_verbose_(is_verbose) {}

  const Parameters& parameters;
  Timeline timeline;
  uint64_t steps = 0;  // events applied to a core

  // Adds a fact to the digest of the run: equal runs have equal digests.
  void Note(uint64_t fact) { digest_ = (digest_ ^ fact) * 0x100000001b3 + (digest_ >> 29); }
  void Note(const std::string& bytes) {
    for (const char c : bytes) Note(static_cast<uint64_t>(static_cast<unsigned char>(c)));
  }
  uint64_t digest() const { return digest_; }

  // Prints a line of the trace; costs nothing unless the trace is on.
  template <typename... Words>
  void Trace(const Words&... words) {
    if (is_verbose_) Print(absl::StrCat(words...));
  }

  // The first broken invariant ends the run.
  void Violate(const std::string& what) {
    if (!violation_.empty()) return;
    violation_ = absl::StrCat("at ", absl::FormatDuration(timeline.elapsed()), ": ", what);
    if (is_verbose_) Print(absl::StrCat("VIOLATION: ", what));
  }
  void Expect(bool holds, const std::string& what) {
    if (!holds) Violate(what);
  }
  const std::string& violation() const { return violation_; }

 private:
  void Print(const std::string& text) {
    std::printf("%10.4f %s\n", absl::ToDoubleSeconds(timeline.elapsed()), text.c_str());
  }

  const bool is_verbose_;
  std::string violation_;
  uint64_t digest_ = 0xcbf29ce484222325;
};

}  // namespace muster::sim
