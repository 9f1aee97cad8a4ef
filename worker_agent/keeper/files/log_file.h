// A process's log: appended to as the bytes come, nothing dropped unless the disk refuses it. Blocks where the file
// system does: for the helper (helper_process.h), never for the keeper itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class LogFile {
 public:
  // Opens for appending; creates the file and its folders, which may be another user's: follows no link, takes nothing
  // but a regular file (or device) with one name. Where a killed process left half a line, the next one's first does
  // not run into it. The error names the path, what to do and the setting.
  static absl::StatusOr<LogFile> Open(const std::string& path);

  // Never fails: what the disk doesn't take (it is full) is lost, later bytes are tried again. Returns a line for the
  // user the first time that happens, else an empty text. How much was lost is written into the file itself once it
  // takes something again.
  std::string Append(std::string_view bytes);

 private:
  LogFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  size_t Write(std::string_view bytes);

  UniqueFd fd_;
  std::string path_;
  uint64_t lost_bytes_ = 0;  // since the last note in the file
  bool has_complained_ = false;
};

}  // namespace muster::agent
