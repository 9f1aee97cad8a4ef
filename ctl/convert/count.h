// A number of processes or nodes. It may be a shell's expression, such as $NNODES. Its value is not known here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"

namespace muster::ctl {

struct Count {
  uint32_t number = 0;          // 0: the number is `expression`
  std::string expression = {};  // used if `number` is 0

  static std::optional<Count> Of(const std::string& text) {
    if (text.size() > 1 && (text[0] == '$' || text[0] == '`')) return Count{0, text};
    uint32_t number = 0;
    if (!absl::SimpleAtoi(text, &number) || number == 0 || number > kMaxWorkers) return std::nullopt;
    return Count{number};
  }

  bool is_known() const { return number != 0; }
  std::string Text() const { return is_known() ? absl::StrCat(number) : expression; }
};

inline Count Times(const Count& a, const Count& b) {
  if (a.is_known() && b.is_known()) {
    const uint64_t product = uint64_t{a.number} * b.number;
    // If the product is too large, return one more than a job may have. SettleSize refuses that.
    return Count{static_cast<uint32_t>(std::min<uint64_t>(product, kMaxWorkers + 1))};
  }
  if (a.number == 1) return b;
  if (b.number == 1) return a;
  return Count{0, absl::StrCat("$((", a.Text(), " * ", b.Text(), "))")};
}

}  // namespace muster::ctl
