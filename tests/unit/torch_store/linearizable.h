// Checks whether a history of one key of the store could be that of a single store that serves one request after the
// other. Uses Wing and Gong's search, with Lowe's memory of states, for histories of at most 64 operations.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace muster::torch_store {

struct Operation {
  enum class Kind { kAdd, kCompareSet, kGet, kPush, kPop };
  Kind kind = Kind::kGet;
  int64_t number = 0;         // the added number, or the answer of ADD; for POP the length before it
  std::string expected = {};  // COMPARE_SET's
  std::string value = {};     // the new one of COMPARE_SET, or that of PUSH
  std::string answer = {};    // as text; none: ""
  int64_t begun = 0;          // any clock
  int64_t ended = 0;
};

// Returns the new value, or the entries of the queue after commas. nullopt: a store would not have answered so.
inline std::optional<std::string> After(const std::string& state, const Operation& operation) {
  switch (operation.kind) {
    case Operation::Kind::kAdd: {
      int64_t present = 0;
      if (!state.empty() && !absl::SimpleAtoi(state, &present)) return std::nullopt;
      const std::string sum = absl::StrCat(present + operation.number);
      return operation.answer == sum ? std::optional(sum) : std::nullopt;
    }
    case Operation::Kind::kCompareSet: {
      const std::string& next = state == operation.expected ? operation.value : state;
      // (For a missing key with another expectation, the answer is the expectation.)
      const std::string& answer = state.empty() && !operation.expected.empty() ? operation.expected : next;
      return operation.answer == answer ? std::optional(next) : std::nullopt;
    }
    case Operation::Kind::kGet:
      return operation.answer == state ? std::optional(state) : std::nullopt;
    case Operation::Kind::kPush:
      return absl::StrCat(state, operation.value, ",");
    case Operation::Kind::kPop: {
      const std::string first = state.substr(0, state.find(','));
      if (operation.answer != first) return std::nullopt;
      return state.empty() ? state : state.substr(first.size() + 1);
    }
  }
  return std::nullopt;
}

inline bool IsLinearizable(const std::vector<Operation>& history) {
  std::set<std::pair<uint64_t, std::string>> seen;
  std::vector<std::pair<uint64_t, std::string>> to_do = {{0, ""}};
  const uint64_t all = history.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << history.size()) - 1;
  while (!to_do.empty()) {
    const auto [done, state] = to_do.back();
    to_do.pop_back();
    if (done == all) return true;
    if (!seen.emplace(done, state).second) continue;
    // The next operation must have begun before any of the remaining ones had ended.
    int64_t first_end = INT64_MAX;
    for (size_t i = 0; i < history.size(); ++i) {
      if ((done >> i & 1) == 0) first_end = std::min(first_end, history[i].ended);
    }
    for (size_t i = 0; i < history.size(); ++i) {
      if ((done >> i & 1) != 0 || history[i].begun > first_end) continue;
      if (std::optional<std::string> next = After(state, history[i]))
        to_do.emplace_back(done | uint64_t{1} << i, *next);
    }
  }
  return false;
}

}  // namespace muster::torch_store
