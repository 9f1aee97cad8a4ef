// Files of the TLS configuration: who may read them, and whether they have changed.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

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

}  // namespace muster
