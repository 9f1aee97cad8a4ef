// The rank tables that an agent has made, in its work folder.
//
// Each round has a file rank_table-<round>.json, which appears complete and is only ever replaced as a whole.
// rank_table.json is a link to the newest of them. The file of the round before is kept, for a process that has just
// read the link; older ones are deleted. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace muster::agent {

class TableFiles {
 public:
  explicit TableFiles(std::string folder) : folder_(std::move(folder)) {}

  // Writes the round's file, points the link to it, and returns the file's path. If the file exists, replaces it
  // atomically.
  absl::StatusOr<std::string> Write(uint32_t round, const std::string& text);

  std::string LinkPath() const { return folder_ + "/rank_table.json"; }

 private:
  const std::string folder_;
  std::string newest_;
  std::string before_;
};

}  // namespace muster::agent
