#include "common/sys/private_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "common/sys/file_io.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// Needs root to set the owners of folders. The folder above, /tmp, is root's and sticky.
class PrivateFolderTest : public ::testing::Test {
 protected:
  PrivateFolderTest() {
    char name[] = "/tmp/muster-private-folder.XXXXXX";
    base_ = mkdtemp(name);
  }
  ~PrivateFolderTest() override { std::filesystem::remove_all(base_); }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make what belongs to others";
  }

  std::string Path(const std::string& name) const { return base_ + "/" + name; }
  std::string Make(const std::string& name, mode_t mode, uid_t owner = 0) const {
    EXPECT_EQ(mkdir(Path(name).c_str(), 0700), 0) << name;
    EXPECT_EQ(chmod(Path(name).c_str(), mode), 0);
    EXPECT_EQ(chown(Path(name).c_str(), owner, owner), 0);
    return Path(name);
  }
  std::string Link(const std::string& target, const std::string& name, uid_t owner) const {
    EXPECT_EQ(symlink(target.c_str(), Path(name).c_str()), 0);
    EXPECT_EQ(lchown(Path(name).c_str(), owner, owner), 0);
    return Path(name);
  }
  static std::string Said(const absl::StatusOr<UniqueFd>& folder) { return std::string(folder.status().message()); }
  static mode_t ModeOf(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(stat(path.c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  std::string base_;
};

TEST_F(PrivateFolderTest, MakesNothingWhereAnothersLinkLeads) {
  const std::string theirs = Make("theirs", 0755, kNobody);
  Make("system", 0755);
  Link(Path("system/nologin"), "theirs/logs", kNobody);
  EXPECT_FALSE(OpenFolder(theirs + "/logs", {FolderTrust::kShared, true}).ok());
  EXPECT_FALSE(std::filesystem::exists(Path("system/nologin")));
  Link(Path("system/made"), "mine", 0);
  EXPECT_TRUE(OpenFolder(Path("mine/logs"), {FolderTrust::kShared, true}).ok());
}

TEST_F(PrivateFolderTest, AFileToAppendToIsNoneThatAnotherHasChosen) {
  const std::string theirs = Make("theirs", 0755, kNobody);
  Make("ours", 0755);
  { const auto made = OpenToAppend(Path("ours/log")); }
  Link(Path("ours/log"), "theirs/link", kNobody);
  Link(Path("ours/new"), "theirs/to-new", kNobody);
  ASSERT_EQ(mkfifo(Path("theirs/fifo").c_str(), 0666), 0);
  EXPECT_THAT(Said(OpenToAppend(theirs + "/link")), HasSubstr("symbolic link"));
  EXPECT_THAT(Said(OpenToAppend(theirs + "/to-new")), HasSubstr("symbolic link"));
  EXPECT_FALSE(std::filesystem::exists(Path("ours/new")));
  EXPECT_FALSE(OpenToAppend(theirs + "/fifo").ok());
  EXPECT_TRUE(OpenToAppend(theirs + "/log").ok());
}

TEST_F(PrivateFolderTest, WhereOnlyWeDecideALinkLeadsOn) {
  Make("ours", 0755);
  Link("log", "ours/latest", 0);
  EXPECT_TRUE(OpenToAppend(Path("ours/latest")).ok());
  EXPECT_TRUE(std::filesystem::exists(Path("ours/log")));
  EXPECT_TRUE(OpenToAppend("/dev/null").ok());
  ASSERT_EQ(mkfifo(Path("ours/fifo").c_str(), 0600), 0);
  EXPECT_FALSE(OpenToAppend(Path("ours/fifo")).ok()) << "no process reads it";
  EXPECT_TRUE(absl::IsNotFound(OpenToAppend(Path("nowhere/log")).status()));
}

// In many containers root's group is the first group of all users.
TEST_F(PrivateFolderTest, WhatRootsGroupCanWriteOthersCanWrite) {
  Make("open", 0775);
  EXPECT_THAT(Said(OpenFolder(Make("open/below", 0700), {FolderTrust::kTrusted})), HasSubstr("others can write"));
}

TEST_F(PrivateFolderTest, MakesWhatIsMissingForUsAlone) {
  const auto folder = OpenFolder(Path("a/b/c"), {FolderTrust::kPrivate, true});
  ASSERT_TRUE(folder.ok()) << folder.status();
  for (const char* name : {"a", "a/b", "a/b/c"}) EXPECT_EQ(ModeOf(Path(name)), 0700U) << name;
  EXPECT_TRUE(absl::IsNotFound(OpenFolder(Path("a/x")).status()));
  EXPECT_TRUE(OpenFolder(Path("a//./b/../b/c/")).ok());
}

TEST_F(PrivateFolderTest, AnotherUsersIsRefusedWhereverItStands) {
  Make("his", 0755, kNobody);
  Make("his/ours", 0700);
  for (const char* path : {"his", "his/ours"}) {
    EXPECT_THAT(Said(OpenFolder(Path(path))), HasSubstr(Path("his") + " belongs to another user (uid 65534, not 0)"));
    EXPECT_TRUE(OpenFolder(Path(path), {FolderTrust::kShared}).ok());
  }
}

TEST_F(PrivateFolderTest, WhatOthersCanWriteToIsRefusedUnlessItIsSticky) {
  Make("open", 0777);
  Make("open/ours", 0700);
  EXPECT_THAT(Said(OpenFolder(Path("open/ours"))),
              HasSubstr("others can write to the folder " + Path("open") + ": chmod go-w"));
  ASSERT_EQ(chmod(Path("open").c_str(), 01777), 0);
  EXPECT_TRUE(OpenFolder(Path("open/ours")).ok());
  EXPECT_TRUE(OpenFolder(Path("open"), {FolderTrust::kTrusted}).ok());
  // A group that has other members, too.
  ASSERT_EQ(chmod(Path("open").c_str(), 0770), 0);
  ASSERT_EQ(chown(Path("open").c_str(), 0, kNobody), 0);
  EXPECT_THAT(Said(OpenFolder(Path("open/ours"))), HasSubstr("others can write"));
}

TEST_F(PrivateFolderTest, OurOwnIsClosedToOthers) {
  Make("ours", 0777);
  EXPECT_TRUE(OpenFolder(Path("ours")).ok());
  EXPECT_EQ(ModeOf(Path("ours")), 0755U);
}

TEST_F(PrivateFolderTest, LinksOfOthersAreNotTrusted) {
  Make("ours", 0700);
  Make("ours/in", 0700);
  Make("his", 0755, kNobody);
  Link("ours", "our-link", 0);
  Link(Path("ours"), "his-link", kNobody);
  Link("his", "his-own", kNobody);
  EXPECT_TRUE(OpenFolder(Path("our-link/in")).ok());
  EXPECT_THAT(Said(OpenFolder(Path("our-link"))), HasSubstr("symbolic link, not a folder"));
  EXPECT_TRUE(OpenFolder(Path("our-link"), {FolderTrust::kTrusted}).ok());
  for (const FolderTrust trust : {FolderTrust::kShared, FolderTrust::kTrusted, FolderTrust::kPrivate}) {
    EXPECT_THAT(Said(OpenFolder(Path("his-link/in"), {trust})), HasSubstr("symbolic link of another user (uid 65534)"));
  }
  EXPECT_TRUE(OpenFolder(Path("his-own"), {FolderTrust::kShared}).ok());
  Link("round", "round", 0);
  EXPECT_THAT(Said(OpenFolder(Path("round/x"))), HasSubstr("symbolic links"));
}

TEST_F(PrivateFolderTest, AFileIsOursOrRefused) {
  const auto folder = OpenFolder(Make("ours", 0700));
  ASSERT_TRUE(folder.ok());
  const auto open = [&](const std::string& name, int flags = O_RDWR) {
    return std::string(OpenOwnFile(*folder, Path("ours"), name, flags, 0600).status().message());
  };
  EXPECT_EQ(open("new", O_RDWR | O_CREAT), "");
  EXPECT_EQ(link(Path("ours/new").c_str(), Path("ours/second").c_str()), 0);
  EXPECT_THAT(open("new"), HasSubstr("hard link"));
  EXPECT_EQ(unlink(Path("ours/second").c_str()), 0);
  EXPECT_EQ(open("new"), "");
  EXPECT_EQ(chmod(Path("ours/new").c_str(), 0666), 0);
  EXPECT_THAT(open("new"), HasSubstr("others can write to " + Path("ours/new")));
  EXPECT_EQ(chown(Path("ours/new").c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(open("new"), HasSubstr("another user (uid 65534"));
  EXPECT_EQ(mkfifo(Path("ours/pipe").c_str(), 0600), 0);
  EXPECT_THAT(open("pipe"), HasSubstr("not a regular file"));
  Link("pipe", "ours/link", 0);
  EXPECT_THAT(open("link"), HasSubstr("symbolic link"));
  EXPECT_THAT(open("missing"), HasSubstr(Path("ours/missing")));
}

TEST_F(PrivateFolderTest, FilesAreReplacedInTheFolderThatThePathMeans) {
  Make("ours", 0700);
  Make("his", 0755, kNobody);
  Link(Path("ours"), "his/link", kNobody);
  const absl::Status astray = WriteFileAtomically(Path("his/link/failure.json"), "x", 0644);
  EXPECT_THAT(std::string(astray.message()), HasSubstr("symbolic link of another user"));
  RemoveFile(Path("his/link/failure.json"));
  EXPECT_TRUE(std::filesystem::is_empty(Path("ours")));
  Link(Path("ours/precious"), "his/failure.json", kNobody);
  EXPECT_TRUE(WriteFileAtomically(Path("his/failure.json"), "x", 0644).ok());
  EXPECT_TRUE(std::filesystem::is_empty(Path("ours")));
  EXPECT_EQ(*ReadSmallFile(Path("his/failure.json"), 10), "x");
  RemoveFile(Path("his/failure.json"));
  EXPECT_TRUE(absl::IsNotFound(ReadSmallFile(Path("his/failure.json"), 10).status()));
}

// A user with write access to the folder may have put anything there under the name that we compose.
TEST(PlainFile, IsNeitherALinkNorAPipeNorASecondName) {
  char name[] = "/tmp/muster-plain-file.XXXXXX";
  const std::string base = mkdtemp(name);
  const auto said = [&](const std::string& file, int flags) {
    const absl::StatusOr<UniqueFd> opened = OpenPlainFile(base + "/" + file, flags, 0600);
    return opened.ok() ? "opened" : opened.status().ToString();
  };
  ASSERT_EQ(said("victim", O_WRONLY | O_CREAT), "opened");
  ASSERT_EQ(symlink("victim", (base + "/link").c_str()), 0);
  ASSERT_EQ(mkfifo((base + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkdir((base + "/folder").c_str(), 0700), 0);
  for (const int flags : {O_RDONLY, O_RDWR | O_CREAT}) {
    EXPECT_THAT(said("link", flags), HasSubstr("/link is a symbolic link and is not followed: remove it"));
    EXPECT_THAT(said("pipe", flags), HasSubstr("/pipe is not a regular file: remove it"));
  }
  EXPECT_THAT(said("folder", O_RDONLY), HasSubstr("not a regular file"));
  EXPECT_THAT(said("none", O_RDONLY), HasSubstr("NOT_FOUND"));
  ASSERT_EQ(link((base + "/victim").c_str(), (base + "/second").c_str()), 0);
  EXPECT_THAT(said("second", O_RDWR), HasSubstr("has another name elsewhere"));
  std::filesystem::remove_all(base);
}

}  // namespace
}  // namespace muster
