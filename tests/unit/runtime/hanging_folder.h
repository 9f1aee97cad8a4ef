// A folder in which each lookup hangs, as on a network file system with a dead server: FUSE, without an answer.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/unique_fd.h"

namespace muster::agent {

class HangingFolder {
 public:
  // Makes the folder if there is none.
  explicit HangingFolder(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path);
    connection_.reset(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!connection_.is_open()) return;
    const std::string options = absl::StrCat("fd=", connection_.get(), ",rootmode=40000,user_id=0,group_id=0");
    hangs_ = mount("hangs", path.c_str(), "fuse", 0, options.c_str()) == 0;
  }
  // Calls that hang there get an error.
  ~HangingFolder() {
    connection_.reset();
    if (hangs_) umount2(path_.c_str(), MNT_DETACH);
  }
  HangingFolder(const HangingFolder&) = delete;
  HangingFolder& operator=(const HangingFolder&) = delete;

  // False without root or FUSE.
  bool hangs() const { return hangs_; }

 private:
  const std::string path_;
  UniqueFd connection_;
  bool hangs_ = false;
};

}  // namespace muster::agent
