#include "common/sys/runtime_paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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
  setenv("XDG_RUNTIME_DIR", ("/" + std::string(120, 'x')).c_str(), 1);  // too long for the path of a socket
  EXPECT_EQ(DefaultAdminSocket(8118), fallback);
}

TEST_F(RuntimePathsTest, FindsSocketsByTheirNames) {
  if (geteuid() == 0) GTEST_SKIP() << "root has one folder for all, which other tests use";
  char made[] = "/tmp/muster-paths.XXXXXX";
  ASSERT_NE(mkdtemp(made), nullptr);
  const std::filesystem::path folder = std::filesystem::path(made) / "muster";
  std::filesystem::create_directory(folder);
  setenv("XDG_RUNTIME_DIR", made, 1);
  for (const char* name :
       {"scheduler-40001.sock", "scheduler-x.sock", "scheduler-70000.sock", "other", "scheduler-7.so"}) {
    std::ofstream(folder / name);
  }
  const auto found = FindAdminSockets();
  ASSERT_TRUE(found.contains(40001));
  EXPECT_EQ(found.at(40001), (folder / "scheduler-40001.sock").string());
  std::filesystem::remove_all(made);
  EXPECT_FALSE(found.contains(7));
}

TEST(ExpandHome, TakesAShellsPlace) {
  struct {
    const char* path;
    const char* home;
    const char* meant;
  } const kCases[] = {
      {"~", "/home/ada", "/home/ada"},   {"~/x", "/home/ada", "/home/ada/x"}, {"~/x", "/", "/x"},
      {"~root", "/home/ada", "/root"},   {"~root/x", "/home/ada", "/root/x"}, {"", "/home/ada", ""},
      {"/a/~/x", "/home/ada", "/a/~/x"}, {"./~x", "/home/ada", "./~x"},       {"x~", "/home/ada", "x~"},
  };
  for (const auto& one : kCases) {
    const auto meant = ExpandHome(one.path, {{"HOME", one.home}});
    ASSERT_TRUE(meant.ok()) << one.path << ": " << meant.status();
    EXPECT_EQ(*meant, one.meant) << one.path;
  }
  EXPECT_TRUE(ExpandHome("~/x", {}).ok()) << "the list of users has this one";
}

TEST(ExpandHome, AnUnknownUserIsNamed) {
  const auto meant = ExpandHome("~nobody-of-that-name/x", {{"HOME", "/home/ada"}});
  ASSERT_FALSE(meant.ok());
  EXPECT_NE(meant.status().message().find("nobody-of-that-name"), std::string::npos) << meant.status();
  EXPECT_FALSE(ExpandHome("~/x", {{"HOME", "relative"}}).ok());
}

TEST(AbsolutePath, ARelativeOneIsInThePresentFolder) {
  char* const folder = getcwd(nullptr, 0);
  ASSERT_NE(folder, nullptr);
  for (const char* path : {"a/b", "./a/b", "././a/b", ".//a/b"}) {
    EXPECT_EQ(AbsolutePath(path, {}).value_or(""), absl::StrCat(folder, "/a/b")) << path;
  }
  EXPECT_EQ(AbsolutePath("../a", {}).value_or(""), absl::StrCat(folder, "/../a"));
  EXPECT_EQ(AbsolutePath("/a", {}).value_or(""), "/a");
  EXPECT_EQ(AbsolutePath("", {}).value_or("?"), "");
  EXPECT_EQ(AbsolutePath("~/a", {{"HOME", "/home/ada"}}).value_or(""), "/home/ada/a");
  std::free(folder);
}

}  // namespace
}  // namespace muster
