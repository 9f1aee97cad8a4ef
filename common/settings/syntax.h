// The small languages of some settings: signals, port ranges, lists of numbers, CPU bindings, NAME=VALUE. Pure.
//
// Errors say the rule only ("must be …"), as in values.h. The agent uses the same functions to act on the settled
// values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace muster {

// "TERM", "SIGTERM", "term", "15" → 15. Not STOP, CONT or the like, which end nothing.
absl::StatusOr<int> ParseSignal(const std::string& text);

// low ≤ high, both inclusive.
struct NumberRange {
  uint32_t low = 0;
  uint32_t high = 0;
  bool contains(uint32_t number) const { return low <= number && number <= high; }
  bool operator==(const NumberRange&) const = default;
};

// "20000-20100", both from 1024 to 65535.
absl::StatusOr<NumberRange> ParsePortRange(const std::string& text);

// "0,3-5" with numbers up to `highest`.
absl::StatusOr<std::vector<NumberRange>> ParseNumberList(const std::string& text, uint32_t highest);

// --tail: which ranks are shown live.
struct Tail {
  enum class Kind { kNone, kAll, kListed } kind = Kind::kNone;
  std::vector<NumberRange> ranks;  // only for kListed
};

// "none", "all" (also msrun's -1), "0,3-5".
absl::StatusOr<Tail> ParseTail(const std::string& text);

// --bind_core.
struct CoreBinding {
  bool is_auto = false;
  std::map<uint32_t, std::vector<int>> cpus;  // local slot → CPUs in order, none twice
};

// "" or "false": nothing is bound; "auto" or "true": each slot gets its share; "0:0-3;1:4-7,12": as it says.
absl::StatusOr<CoreBinding> ParseCoreBinding(const std::string& text);

// "NAME=VALUE"; NAME as in a shell, VALUE may be empty.
absl::StatusOr<std::pair<std::string, std::string>> ParseVariable(const std::string& text);

// "rack=r1" or "rack=r1,switch=s3" → pairs in order; keys and values of [A-Za-z0-9._-].
absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ParseLabels(const std::string& text);

}  // namespace muster
