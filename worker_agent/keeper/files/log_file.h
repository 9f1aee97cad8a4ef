// The log file of a process. Bytes are appended as they come, and none is dropped unless the disk refuses it. Blocks if
// the file system hangs, so only a helper may use it (helper_process.h), never the keeper itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class LogFile {
 public:
  // Opens the file for appending; creates it and its folders. A folder may be another user's, so this follows no link,
  // and accepts only a regular file (or device) that has no second name. If a killed process has left a line without an
  // end there, ends that line. The error names the path, the remedy and the setting.
  static absl::StatusOr<LogFile> Open(const std::string& path);

  // Never fails: bytes that the disk doesn't take (it is full) are lost, and later bytes are tried again. Returns a
  // line for the user the first time that bytes are lost, else an empty text. When the file accepts bytes again, a note
  // in it says how many were lost.
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
