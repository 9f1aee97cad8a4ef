// The order in which `ms-ctl certs` puts its files in place, and its messages when that fails for one of the last.
// Every file gets there by renameat, which this program replaces.
#include <errno.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ctl/certs/folder.h"
#include "ctl/certs/inspect.h"
#include "tests/unit/certs/times.h"

namespace {

std::vector<std::string> g_renamed;                            // the targets of renames, in order
std::function<bool(const std::string& to)> g_fails = nullptr;  // whether a rename fails, with ENOSPC

std::string PathOf(int folder, const char* name) {
  if (folder == AT_FDCWD || *name == '/') return name;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(folder)) / name;
}

}  // namespace

extern "C" int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  const std::string path = PathOf(to_folder, to);
  if (g_fails != nullptr && g_fails(path)) {
    errno = ENOSPC;
    return -1;
  }
  g_renamed.push_back(path);
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, 0));
}

namespace muster::certs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WritingOrderTest : public testing::Test {
 protected:
  WritingOrderTest() {
    std::string pattern = testing::TempDir() + "/certs_order_test.XXXXXX";
    root_ = mkdtemp(pattern.data());
    dir_ = root_ + "/ca";
    EXPECT_TRUE(CertFolder::Create(dir_, "muster", kNow, absl::Hours(24) * 3650, {}).ok());
    for (const char* id : {"1", "2"}) EXPECT_TRUE(IssueNode(Open(), id).ok());
    g_renamed.clear();
  }
  ~WritingOrderTest() override {
    g_fails = nullptr;
    std::filesystem::remove_all(root_);
  }

  CertFolder Open() { return *CertFolder::OpenToSign(dir_, kNow); }
  static absl::StatusOr<IndexEntry> IssueNode(CertFolder folder, const std::string& id) {
    return folder.Issue(*NodeSubject("muster", "*", id), Form::kPem, {}, kNow, {});
  }
  std::string SerialOf(const std::string& name) { return CertFolder::OpenToRead(dir_)->index().Latest(name)->serial; }
  // The files that were put in place, below the authority's folder.
  std::vector<std::string> Renamed() const {
    std::vector<std::string> names = g_renamed;
    for (std::string& name : names) name = std::filesystem::relative(name, dir_);
    return names;
  }
  void FailAt(const std::string& name, int nth) {
    const std::string path = std::filesystem::canonical(dir_) / name;
    g_fails = [path, nth](const std::string& to) mutable { return to == path && --nth == 0; };
  }
  std::string ListNumber(const std::string& file) { return InspectFile(dir_ + "/" + file, {})->lists.front().number; }

  std::string root_, dir_;
};

// After a crash at any point crl.pem is as new as the index, or the next command signs it again. If crl.pem is new, no
// copy of it is older.
TEST_F(WritingOrderTest, ARevocationIsInTheIndexThenInTheCopiesAndLastInTheList) {
  ASSERT_TRUE(Open().Revoke({SerialOf("node-1")}, "", kNow, {}).ok());
  EXPECT_THAT(Renamed(), ElementsAre("index.json", "node-1/crl.pem", "node-2/crl.pem", "crl.pem"));
}

TEST_F(WritingOrderTest, ACertificateIsInTheIndexBeforeItsFilesAndNotedAsWholeAfterThem) {
  ASSERT_TRUE(IssueNode(Open(), "3").ok());
  EXPECT_THAT(Renamed(), ElementsAre("index.json", "node-3/ca.pem", "node-3/crl.pem", "node-3/cert.pem",
                                     "node-3/tls.json", "index.json"));
}

TEST_F(WritingOrderTest, WhereTheLastWritingOfTheIndexFailsTheSameCommandIsToBeGivenAgain) {
  FailAt("index.json", 2);
  const auto issued = IssueNode(Open(), "3");
  ASSERT_FALSE(issued.ok());
  EXPECT_THAT(std::string(issued.status().message()), HasSubstr("No space left"));
  EXPECT_THAT(std::string(issued.status().message()),
              HasSubstr("/node-3 is complete, but not recorded as such: run the same command again before you take "
                        "that folder away"));
  g_fails = nullptr;
  CertFolder folder = Open();
  ASSERT_TRUE(folder.index().Latest("node-3")->is_unfinished);
  const auto dropped = folder.SettleUnfinished("node-3", {}, kNow, {});
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_THAT(*dropped, testing::IsEmpty()) << "it is whole: nothing is revoked";
  EXPECT_FALSE(CertFolder::OpenToRead(dir_)->index().Latest("node-3")->is_unfinished);
}

TEST_F(WritingOrderTest, AListThatCouldNotBeWrittenIsBehindAndIsSignedAgain) {
  FailAt("crl.pem", 1);
  EXPECT_FALSE(Open().Revoke({SerialOf("node-1")}, "", kNow, {}).ok());
  g_fails = nullptr;
  EXPECT_EQ(ListNumber("node-1/crl.pem"), "2") << "the copies stand already";
  EXPECT_EQ(ListNumber("crl.pem"), "1");
  EXPECT_THAT(Open().notice(), HasSubstr("ms-ctl certs crl"));
  ASSERT_TRUE(Open().RenewList(kNow, {}).ok());
  EXPECT_EQ(ListNumber("crl.pem"), "3");
  EXPECT_EQ(ListNumber("node-2/crl.pem"), "3");
}

}  // namespace
}  // namespace muster::certs
