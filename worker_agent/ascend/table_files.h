// The rank tables that an agent has made, in its work folder: a file for each round, and one name for the newest.
//
// rank_table-<round>.json is whole from its first moment on and never changes; rank_table.json is a link to the newest.
// The one of the round before stays, so that a reader of the link finds a file as long as it is not two rounds late.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace muster::agent {

class TableFiles {
 public:
  explicit TableFiles(std::string folder) : folder_(std::move(folder)) {}

  // Writes the round's file and returns its path. The same round again replaces it as a whole.
  absl::StatusOr<std::string> Write(uint32_t round, const std::string& text);

  std::string LinkPath() const { return folder_ + "/rank_table.json"; }

 private:
  const std::string folder_;
  std::string newest_;
  std::string before_;
};

}  // namespace muster::agent
