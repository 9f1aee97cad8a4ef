// Files of the TLS configuration on file systems that may hang (a network one whose server is gone).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/sys/threads.h"
#include "common/tls/material/tls_file.h"

namespace muster {

// The calls that may hang; a test has others.
struct FileCalls {
  std::function<FileStamp(const std::string& path)> stamp = StampOf;
  std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)> read = ReadTlsFile;
};

// One thread at a time, but for GiveUp.
class PatientFiles {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(2);

  explicit PatientFiles(FileCalls calls) : calls_(std::move(calls)) {}

  // Up to here each call is made by its caller's thread, however long it takes; from now on by another one, and none
  // takes longer than kPatience, nor any time at all while an earlier one still hangs. RESOURCE_EXHAUSTED: there is no
  // thread to be had, and nothing has changed.
  absl::Status BeginPatience();
  // Any thread: calls end at once.
  void GiveUp();

  // All zero where nothing is, or nothing answers.
  FileStamp Stamp(const std::string& path);
  // DEADLINE_EXCEEDED when the file system does not answer, CANCELLED after GiveUp.
  absl::StatusOr<TlsFile> Read(const std::string& path, FileSecrecy secrecy);

 private:
  std::shared_ptr<SideThread> thread() const;

  const FileCalls calls_;
  std::atomic<bool> has_given_up_ = false;
  mutable Mutex mutex_;
  std::shared_ptr<SideThread> thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster
