// Reads files of the TLS configuration: checks their permissions, and finds out if they have changed.
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
  kPrivate,          // refused if others than the owner may read or change it (see ReadTlsFile)
  kPrivateReadable,  // the user allows others to read it
};

// Changes whenever the file was written to or replaced, as far as the file system shows it.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};

// Returns the stamp of the file that the path leads to now; all zero if there is none.
FileStamp StampOf(const std::string& path);

struct TlsFile {
  std::string bytes;
  FileStamp stamp;  // taken before the bytes were read
};

// Reads a regular file of at most kMaxTlsFileBytes. kPrivate refuses a file that group or others may read or change;
// but a group may read it if root owns it (as secrets of systemd and Kubernetes). The error begins with the path and
// says what was found and what to do.
absl::StatusOr<TlsFile> ReadTlsFile(const std::string& path, FileSecrecy secrecy);

// ---- Files on file systems that may hang (a network file system without its server).

// The calls that may hang; a test replaces them.
struct FileCalls {
  std::function<FileStamp(const std::string& path)> stamp = StampOf;
  std::function<absl::StatusOr<TlsFile>(const std::string& path, FileSecrecy secrecy)> read = ReadTlsFile;
};

// One thread at a time, except for GiveUp.
class PatientFiles {
 public:
  static constexpr absl::Duration kPatience = absl::Seconds(2);

  explicit PatientFiles(FileCalls calls) : calls_(std::move(calls)) {}

  // Moves the calls to another thread. Before this, the caller's thread makes each call, however long it takes. After
  // it, no call takes longer than kPatience, and fails at once while an earlier one still hangs. RESOURCE_EXHAUSTED: no
  // thread can be made, and nothing has changed.
  absl::Status BeginPatience();
  // Any thread: calls end at once.
  void GiveUp();

  // Returns all zero if there is no file, or no answer.
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
