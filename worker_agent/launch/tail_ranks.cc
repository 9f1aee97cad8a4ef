#include "worker_agent/launch/tail_ranks.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/number_list.h"

namespace muster::agent {

absl::StatusOr<TailRanks> TailRanks::Parse(const std::string& text) {
  TailRanks ranks;
  if (text == "none") return ranks;
  if (text == "all") {
    ranks.ranges_.emplace_back(0, UINT32_MAX);
    return ranks;
  }
  auto ranges = ParseNumberRanges(text, kMaxWorkers - 1);
  if (!ranges.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("--tail \"", text, "\": ", ranges.status().message(),
                                                   "; give ranks as in 0,3-5, or all, or none"));
  }
  ranks.ranges_ = *std::move(ranges);
  return ranks;
}

bool TailRanks::Contains(uint32_t rank) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [rank](const auto& range) { return range.first <= rank && rank <= range.second; });
}

}  // namespace muster::agent
