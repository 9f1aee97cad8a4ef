// Files of the TLS configuration: who may read them, and whether they have changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/sys/threads.h"

namespace muster {

enum class FileSecrecy {
  kPublic,
  kPrivate,          // refused when others than the owner may read or change it (see ReadTlsFile)
  kPrivateReadable,  // the user has allowed that others may
};

// Changes whenever the file was written to or replaced, as far as the file system can tell.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Of what the path leads to now; all zero when there is nothing.
FileStamp StampOf(const std::string& path);

struct TlsFile {
  std::string bytes;
  FileStamp stamp;  // taken before the bytes were read
};

// A regular file of at most kMaxTlsFileBytes. kPrivate refuses a file that group or others may read or change; a group
// may read it if it belongs to root (so do secrets of systemd and Kubernetes). The error begins with the path and says
// what was found and what to do.
absl::StatusOr<TlsFile> ReadTlsFile(const std::string& path, FileSecrecy secrecy);

// ---- Files on file systems that may hang (a network one whose server is gone).

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
