// All files belong to `owner_`; each test decides whether that is the asking user or another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "common/base/unique_fd.h"
#include "ctl/admin_client.h"

namespace muster::ctl {
namespace {

using ::testing::HasSubstr;

class AdminSocketTest : public testing::Test {
 protected:
  AdminSocketTest() {
    std::string pattern = "/tmp/muster-socket-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    fd_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path().data(), path().size());
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    Give(folder_, owner_);
    Give(path(), owner_);
  }
  ~AdminSocketTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/scheduler.sock"; }
  // Root alone can give a file to another user. The files that any other user makes stay that user's.
  static void Give(const std::string& path, uid_t owner) {
    if (geteuid() == 0) {
      EXPECT_EQ(lchown(path.c_str(), owner, static_cast<gid_t>(-1)), 0);
    }
  }
  void SetMode(mode_t mode) const { EXPECT_EQ(chmod(folder_.c_str(), mode), 0); }
  absl::Status CheckNamed(uid_t self) const { return CheckSocket({path(), /*is_named=*/true}, self); }
  absl::Status CheckDefault(uid_t self) const { return CheckSocket({path(), /*is_named=*/false}, self); }

  const uid_t owner_ = geteuid() == 0 ? 4711 : geteuid();
  const uid_t other_ = owner_ + 1;
  std::string folder_;
  UniqueFd fd_;
};

TEST_F(AdminSocketTest, OnesOwnInAPrivateFolderIsTrusted) {
  EXPECT_EQ(CheckDefault(owner_), absl::OkStatus());
  EXPECT_EQ(CheckNamed(owner_), absl::OkStatus());
}

TEST_F(AdminSocketTest, AnotherUsersIsTrustedOnlyWhenItIsNamed) {
  const absl::Status status = CheckDefault(other_);
  ASSERT_TRUE(absl::IsUnauthenticated(status)) << status;
  const std::string text(status.message());
  EXPECT_THAT(text, HasSubstr(path()));
  EXPECT_THAT(text, HasSubstr("uid " + std::to_string(owner_)));
  EXPECT_THAT(text, HasSubstr("--admin_socket"));
  EXPECT_EQ(CheckNamed(other_), absl::OkStatus());
}

TEST_F(AdminSocketTest, AFolderOthersCanWriteToDoesNotProveItsOwner) {
  for (const mode_t mode : {0770, 0702}) {
    SetMode(mode);
    for (const absl::Status& status : {CheckDefault(owner_), CheckNamed(owner_), CheckNamed(other_)}) {
      ASSERT_TRUE(absl::IsUnauthenticated(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("chmod go-w " + folder_));
    }
  }
}

TEST_F(AdminSocketTest, InAStickyFolderOnlyOnesOwnIsTrusted) {
  SetMode(01777);
  EXPECT_EQ(CheckNamed(owner_), absl::OkStatus());
  const absl::Status status = CheckNamed(other_);
  EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
}

TEST_F(AdminSocketTest, AFolderOfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  Give(folder_, other_);
  for (const absl::Status& status : {CheckDefault(owner_), CheckNamed(owner_), CheckNamed(0)}) {
    ASSERT_TRUE(absl::IsUnauthenticated(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("uid " + std::to_string(other_)));
  }
}

TEST_F(AdminSocketTest, AFolderBehindALinkIsRefused) {
  const std::string link = folder_ + "-link";
  std::filesystem::create_symlink(folder_, link);
  const absl::Status status = CheckSocket({link + "/scheduler.sock", /*is_named=*/false}, owner_);
  std::filesystem::remove(link);
  ASSERT_TRUE(absl::IsUnauthenticated(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("symbolic link"));
}

TEST_F(AdminSocketTest, NoSocketIsNoQuestionOfTrust) {
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "x";
  for (const std::string& path : {folder_ + "/none", file, std::string("/nonexistent/scheduler.sock")}) {
    const absl::Status status = CheckSocket({path}, owner_);
    ASSERT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
}

}  // namespace
}  // namespace muster::ctl
