#include "worker_agent/ascend/table_files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/os_error.h"
#include "common/sys/file_io.h"

namespace muster::agent {

absl::StatusOr<std::string> TableFiles::Write(uint32_t round, const std::string& text) {
  const std::string name = absl::StrCat("rank_table-", round, ".json");
  const std::string path = absl::StrCat(folder_, "/", name);
  if (absl::Status written = ReplaceFile(path, text, 0644); !written.ok()) return written;
  // A link can't be changed in place, so a new link is made and then renamed to the old one's name.
  const std::string new_link = LinkPath() + ".new";
  unlink(new_link.c_str());
  if (symlink(name.c_str(), new_link.c_str()) != 0 || rename(new_link.c_str(), LinkPath().c_str()) != 0) {
    const int error = errno;
    return FileError(absl::StrCat("cannot make the link ", LinkPath()), error);
  }
  if (newest_ == path) return path;
  // A new run counts its rounds from 1 again, so the file of the round before may be the one that was just written.
  if (!before_.empty() && before_ != path) unlink(before_.c_str());
  before_ = std::exchange(newest_, path);
  return path;
}

}  // namespace muster::agent
