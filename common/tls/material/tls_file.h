// Reads the files of the TLS configuration: checks their permissions, and finds out whether they have changed.
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
  kPrivate,          // refused if other users may read or change it (see ReadTlsFile)
  kPrivateReadable,  // the user allows other users to read it
};

// Identifies a file's content: it changes whenever the file is written to or replaced, as far as the file system shows
// that.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Returns the stamp of the file to which the path leads now; all zeros if there is none.
FileStamp StampOf(const std::string& path);

struct TlsFile {
  std::string bytes;
  FileStamp stamp;  // taken before the bytes were read
};

// Reads a regular file of at most kMaxTlsFileBytes. kPrivate refuses a file that the group or others may read or
// change. There is one exception: the group may read a file that root owns, because systemd and Kubernetes store
// secrets so. The error begins with the path, and says what was found and what to do.
absl::StatusOr<TlsFile> ReadTlsFile(const std::string& path, FileSecrecy secrecy);

// ---- Files on file systems that may hang, such as a network file system without its server.

// The calls that may hang. Tests replace them.
struct FileCalls {
  std::function<FileStamp(const std::string& path)> stamp = StampOf;
  std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)> read = ReadTlsFile;
};

// For one thread at a time, except GiveUp.
class PatientFiles {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(2);

  explicit PatientFiles(FileCalls calls) : calls_(std::move(calls)) {}

  // From now on, another thread makes the calls. No call then takes longer than kPatience, and a call fails at once
  // while an earlier one still hangs. Before BeginPatience, the caller's thread makes each call, however long it takes.
  // RESOURCE_EXHAUSTED: no thread can be made, and nothing has changed.
  absl::Status BeginPatience();
  // From now on, calls end at once. May be called by any thread.
  void GiveUp();

  // Returns all zeros if there is no file, or if the file system does not answer.
  FileStamp Stamp(const std::string& path);
  // DEADLINE_EXCEEDED if the file system does not answer, CANCELLED after GiveUp.
  absl::StatusOr<TlsFile> Read(const std::string& path, FileSecrecy secrecy);

 private:
  std::shared_ptr<SideThread> thread() const;

  const FileCalls calls_;
  std::atomic<bool> has_given_up_ = false;
  mutable Mutex mutex_;
  std::shared_ptr<SideThread> thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster
