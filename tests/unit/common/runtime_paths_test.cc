#include "common/sys/runtime_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

class RuntimePathsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* value = getenv("XDG_RUNTIME_DIR");
    has_folder_ = value != nullptr;
    if (has_folder_) folder_ = value;
  }
  void TearDown() override {
    if (has_folder_) setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    if (!has_folder_) unsetenv("XDG_RUNTIME_DIR");
  }
  bool has_folder_ = false;
  std::string folder_;
};

TEST_F(RuntimePathsTest, RootHasOnePlaceWithOrWithoutALoginShell) {
  if (geteuid() != 0) GTEST_SKIP() << "only for root";
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(DefaultAdminSocket(8118), "/run/muster/scheduler-8118.sock");
  setenv("XDG_RUNTIME_DIR", "/run/user/0", 1);
  EXPECT_EQ(DefaultAdminSocket(8118), "/run/muster/scheduler-8118.sock");
}

TEST_F(RuntimePathsTest, OthersHaveTheirRuntimeFolder) {
  if (geteuid() == 0) GTEST_SKIP() << "not for root";
  setenv("XDG_RUNTIME_DIR", "/run/user/77", 1);
  EXPECT_EQ(DefaultAdminSocket(8118), "/run/user/77/muster/scheduler-8118.sock");
  const std::string fallback = absl::StrCat("/tmp/muster-", geteuid(), "/scheduler-8118.sock");
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(DefaultAdminSocket(8118), fallback);
  setenv("XDG_RUNTIME_DIR", ("/" + std::string(120, 'x')).c_str(), 1);  // too long for a socket's path
  EXPECT_EQ(DefaultAdminSocket(8118), fallback);
}

}  // namespace
}  // namespace muster
