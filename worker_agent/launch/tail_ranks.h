// --tail: which ranks' output is shown live.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::agent {

class TailRanks {
 public:
  // "0,3-5", "all" or "none". An empty text is no choice and an error: the caller has its own default. Ranks beyond the
  // world are no error: the world may have another size in the next run.
  static absl::StatusOr<TailRanks> Parse(const std::string& text);

  bool Contains(uint32_t rank) const;

 private:
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;  // inclusive
};

}  // namespace muster::agent
