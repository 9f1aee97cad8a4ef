#include "ctl/certs/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "common/sys/file_io.h"
#include "ctl/certs/inspect.h"
#include "tests/unit/certs/times.h"

namespace muster::certs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern = testing::TempDir() + "/certs_test.XXXXXX";
    root_ = mkdtemp(pattern.data());
    dir_ = root_ + "/ca";
    umask(0);  // the modes of files must not depend on the umask
    EXPECT_TRUE(CertFolder::Create(dir_, "muster", kNow, 3650 * kDay, {}).ok());
  }
  ~FolderTest() override { std::filesystem::remove_all(root_); }

  CertFolder Open() { return *CertFolder::OpenToSign(dir_, kNow); }
  Subject Node(const std::string& id) { return *NodeSubject("muster", "*", id); }
  IndexEntry IssueNode(const std::string& id) { return *Open().Issue(Node(id), Form::kPem, {}, kNow, {}); }
  std::vector<std::string> RevokedIn(const std::string& file) { return InspectFile(file, {})->lists.front().serials; }

  std::string root_;
  std::string dir_;
};

unsigned ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

std::string ErrorOf(const absl::Status& status) { return std::string(status.message()); }

TEST_F(FolderTest, KeysAreTheOwnersOnly) {
  IssueNode("3");
  EXPECT_EQ(ModeOf(dir_), 0700u);
  EXPECT_EQ(ModeOf(dir_ + "/ca.key"), 0600u);
  EXPECT_EQ(ModeOf(dir_ + "/index.json"), 0600u);
  EXPECT_EQ(ModeOf(dir_ + "/node-3"), 0700u);
  EXPECT_EQ(ModeOf(dir_ + "/node-3/cert.pem"), 0600u);
}

TEST_F(FolderTest, NothingIsOverwritten) {
  const std::string key = *ReadSmallFile(dir_ + "/ca.key", 10'000);
  const auto again = CertFolder::Create(dir_ + "/", "muster", kNow, kDay, {});
  EXPECT_TRUE(absl::IsAlreadyExists(again.status())) << again.status();
  EXPECT_EQ(*ReadSmallFile(dir_ + "/ca.key", 10'000), key);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(root_), {}), 1) << "init left something behind";
}

TEST_F(FolderTest, AnEmptyFolderIsFilled) {
  std::filesystem::create_directory(root_ + "/empty");
  EXPECT_TRUE(CertFolder::Create(root_ + "/empty", "muster", kNow, kDay, {}).ok());
  EXPECT_EQ(ModeOf(root_ + "/empty"), 0700u);
}

TEST_F(FolderTest, WhatIsIssuedIsInTheIndexAndInItsFolder) {
  const IndexEntry entry = IssueNode("3");
  const auto folder = CertFolder::OpenToRead(dir_);
  ASSERT_EQ(folder->index().entries.size(), 1u);
  EXPECT_EQ(folder->index().entries[0].fingerprint, entry.fingerprint);
  EXPECT_FALSE(folder->index().entries[0].is_unfinished);
  const auto facts = InspectFile(dir_ + "/node-3", {});
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->certificates[0].fingerprint, entry.fingerprint);
  EXPECT_EQ(facts->certificates[0].serial, entry.serial);
  EXPECT_TRUE(facts->certificates[0].has_key);
}

TEST_F(FolderTest, RevokingReachesEveryCopyOfTheList) {
  const IndexEntry entry = IssueNode("3");
  IssueNode("4");
  EXPECT_THAT(RevokedIn(dir_ + "/crl.pem"), IsEmpty());
  ASSERT_TRUE(Open().Revoke({entry.serial}, "key-compromise", kNow, {}).ok());
  for (const char* file : {"/crl.pem", "/node-3/crl.pem", "/node-4/crl.pem"}) {
    EXPECT_THAT(RevokedIn(dir_ + file), Contains(entry.serial)) << file;
  }
  const auto folder = CertFolder::OpenToRead(dir_);
  EXPECT_EQ(folder->index().entries[0].revoked_at, kNow);
  EXPECT_EQ(folder->index().list_number, 2u);
  EXPECT_EQ(folder->notice(), "");
}

TEST_F(FolderTest, ARevocationThatWasNotedButNotSignedIsSignedNextTime) {
  const IndexEntry entry = IssueNode("3");
  Index index = CertFolder::OpenToRead(dir_)->index();
  index.entries[0].revoked_at = kNow;  // the command crashed here
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/index.json", IndexText(index), 0600).ok());
  ASSERT_TRUE(Open().Revoke({entry.serial}, "", kNow, {}).ok());
  EXPECT_THAT(RevokedIn(dir_ + "/crl.pem"), Contains(entry.serial));
}

// The backup is from a time when only node 3 had a certificate. Since then node 4 got one, and both were revoked.
class RestoredIndex : public FolderTest {
 protected:
  RestoredIndex() : third_(IssueNode("3")), backup_(*ReadSmallFile(dir_ + "/index.json", 100'000)) {
    fourth_ = IssueNode("4");
    EXPECT_TRUE(Open().Revoke({third_.serial}, "key-compromise", kNow, {}).ok());
    EXPECT_TRUE(Open().Revoke({fourth_.serial}, "", kNow + absl::Hours(1), {}).ok());
    EXPECT_TRUE(WriteFileAtomically(dir_ + "/index.json", backup_, 0600).ok());
  }
  SignedList InForce() {
    return *ReadList(*ReadSmallFile(dir_ + "/crl.pem", 100'000), *ReadSmallFile(dir_ + "/ca.pem", 100'000));
  }

  const IndexEntry third_;
  IndexEntry fourth_;
  const std::string backup_;
};

TEST_F(RestoredIndex, TheNextListComesAfterTheOneInForceAndKeepsItsRevocations) {
  const SignedList before = InForce();
  ASSERT_EQ(before.number, 3u);
  CertFolder folder = Open();
  EXPECT_THAT(folder.notice(), HasSubstr("knows list number 1, crl.pem is number 3"));
  EXPECT_THAT(folder.notice(), HasSubstr("2 revocations were taken over"));
  ASSERT_TRUE(folder.RenewList(kNow, {}).ok());
  EXPECT_EQ(InForce().number, 4u);
  EXPECT_EQ(InForce().revoked, before.revoked) << "with their dates and reasons";
  EXPECT_THAT(before.revoked, Contains(RevokedSerial{third_.serial, kNow, "key-compromise"}));
  EXPECT_THAT(before.revoked, Contains(RevokedSerial{fourth_.serial, kNow + absl::Hours(1), ""}));
}

TEST_F(RestoredIndex, WhatWasTakenOverOutlivesTheListItCameFrom) {
  IssueNode("5");  // writes the index, but no list
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/crl.pem", "garbage", 0644).ok());
  CertFolder folder = Open();
  EXPECT_EQ(folder.notice(), "") << "the notice was given once";
  ASSERT_TRUE(folder.RenewList(kNow, {}).ok());
  EXPECT_EQ(InForce().number, 4u);
  EXPECT_THAT(RevokedIn(dir_ + "/crl.pem"), testing::UnorderedElementsAre(third_.serial, fourth_.serial));
}

TEST_F(RestoredIndex, ARevokedOneIsShownAsSuch) {
  const auto folder = CertFolder::OpenToRead(dir_);
  EXPECT_EQ(folder->index().entries[0].revoked_at, kNow);
  EXPECT_EQ(folder->index().entries[0].reason, "key-compromise");
  EXPECT_FALSE(folder->index().HasLive("node-3", kNow));
}

TEST_F(FolderTest, AListOfAnotherAuthorityIsNotTakenOver) {
  const std::string other = root_ + "/other";
  ASSERT_TRUE(CertFolder::Create(other, "muster", kNow, 3650 * kDay, {}).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(CertFolder::OpenToSign(other, kNow)->RenewList(kNow, {}).ok());
  std::filesystem::copy_file(other + "/crl.pem", dir_ + "/crl.pem", std::filesystem::copy_options::overwrite_existing);
  const CertFolder folder = Open();
  EXPECT_EQ(folder.notice(), "");
  EXPECT_EQ(folder.index().list_number, 1u);
  EXPECT_EQ(folder.list_next_update(), absl::InfinitePast()) << "the next signature replaces it";
}

TEST_F(FolderTest, TheListOutlivesEveryCertificate) {
  CertFolder folder = Open();
  Lifetimes lifetimes;
  lifetimes.list = 10 * kDay;
  ASSERT_TRUE(folder.RenewList(kNow, lifetimes).ok());
  lifetimes.list = 400 * kDay;
  ASSERT_TRUE(folder.Issue(Node("3"), Form::kPem, {}, kNow, lifetimes).ok());
  EXPECT_EQ(folder.list_next_update(), kNow + 400 * kDay);
}

TEST_F(FolderTest, ADamagedListIsSignedAgain) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/crl.pem", "garbage", 0644).ok());
  IssueNode("3");
  EXPECT_THAT(RevokedIn(dir_ + "/node-3/crl.pem"), IsEmpty());
}

TEST_F(FolderTest, Pkcs12TakesThePlaceOfPem) {
  IssueNode("3");
  CertFolder folder = Open();
  const auto entry = folder.Issue(Node("3"), Form::kP12, {"server-word", std::nullopt}, kNow, {});
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/node-3/cert.pem")) << "a key without a password was left";
  for (const char* file : {"/node-3/server.p12", "/node-3/client.p12"}) {
    EXPECT_EQ(ModeOf(dir_ + file), 0600u);
    EXPECT_EQ(InspectFile(dir_ + file, {"server-word", {}})->certificates[0].fingerprint, entry->fingerprint);
  }
}

TEST_F(FolderTest, ReadingNeedsNoLock) {
  const CertFolder first = Open();
  const auto second = CertFolder::OpenToRead(dir_);
  EXPECT_TRUE(second.ok());
}

TEST_F(FolderTest, WhatIsNoAuthorityIsToldSo) {
  EXPECT_THAT(ErrorOf(CertFolder::OpenToSign(root_ + "/none", kNow).status()), HasSubstr("certs init"));
  EXPECT_THAT(ErrorOf(CertFolder::OpenToSign(root_, kNow).status()), HasSubstr("index.json"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/lock")) << "a foreign folder was written to";
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/index.json", "{", 0600).ok());
  EXPECT_THAT(ErrorOf(CertFolder::OpenToSign(dir_, kNow).status()), HasSubstr("damaged"));
}

TEST_F(FolderTest, AMissingKeyAndAnExpiredAuthorityAreReportedWithTheRemedy) {
  EXPECT_THAT(ErrorOf(CertFolder::OpenToSign(dir_, kNow + 3651 * kDay).status()), HasSubstr("expired at"));
  std::filesystem::rename(dir_ + "/ca.key", root_ + "/elsewhere");
  EXPECT_THAT(ErrorOf(CertFolder::OpenToSign(dir_, kNow).status()), HasSubstr("put it back"));
  EXPECT_TRUE(CertFolder::OpenToRead(dir_).ok()) << "looking needs no key";
}

TEST_F(FolderTest, AFileInTheWayOfAFolderIsNotReplaced) {
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/node-3", "mine", 0644).ok());
  const auto entry = Open().Issue(Node("3"), Form::kPem, {}, kNow, {});
  EXPECT_THAT(ErrorOf(entry.status()), HasSubstr("in the way"));
}

class InterruptedIssue : public FolderTest {
 protected:
  InterruptedIssue() {
    EXPECT_TRUE(WriteFileAtomically(dir_ + "/node-3", "in the way", 0644).ok());
    EXPECT_FALSE(Open().Issue(Node("3"), Form::kPem, {}, kNow, {}).ok());
    std::filesystem::remove(dir_ + "/node-3");
  }
  std::vector<std::string> Settle(const std::string& name, const Passwords& passwords) {
    const auto dropped = Open().SettleUnfinished(name, passwords, kNow, {});
    EXPECT_TRUE(dropped.ok()) << dropped.status();
    return dropped.value_or(std::vector<std::string>());
  }
  // Puts the folder into the state of a command that ended after its last file and before the index.
  void MarkUnfinished() {
    Index index = CertFolder::OpenToRead(dir_)->index();
    index.entries.back().is_unfinished = true;
    EXPECT_TRUE(WriteFileAtomically(dir_ + "/index.json", IndexText(index), 0600).ok());
  }
};

TEST_F(InterruptedIssue, TheCertificateThatWasNeverHandedOutIsRevoked) {
  const IndexEntry lost = CertFolder::OpenToRead(dir_)->index().entries.back();
  EXPECT_TRUE(lost.is_unfinished);
  EXPECT_THAT(Settle("node-3", {}), testing::ElementsAre(lost.serial));
  const IndexEntry issued = IssueNode("3");
  EXPECT_THAT(RevokedIn(dir_ + "/node-3/crl.pem"), testing::ElementsAre(lost.serial));
  const auto folder = CertFolder::OpenToRead(dir_);
  EXPECT_FALSE(folder->index().entries[0].IsLive(kNow));
  EXPECT_TRUE(folder->index().entries[1].IsLive(kNow));
  EXPECT_EQ(InspectFile(dir_ + "/node-3", {})->certificates[0].serial, issued.serial);
}

// The certificate is revoked in the index, but in no list yet.
TEST_F(InterruptedIssue, AListThatWasNotWrittenIsSignedByTheNextCommand) {
  const std::string lost = CertFolder::OpenToRead(dir_)->index().entries.back().serial;
  const std::string former = *ReadSmallFile(dir_ + "/crl.pem", 1 << 20);
  EXPECT_THAT(Settle("node-3", {}), testing::ElementsAre(lost));
  ASSERT_TRUE(WriteFileAtomically(dir_ + "/crl.pem", former, 0644).ok());
  EXPECT_THAT(CertFolder::OpenToRead(dir_)->notice(), HasSubstr("ms-ctl certs crl"));
  EXPECT_THAT(Settle("node-3", {}), IsEmpty()) << "reported already";
  EXPECT_THAT(RevokedIn(dir_ + "/crl.pem"), testing::ElementsAre(lost));
  EXPECT_EQ(CertFolder::OpenToRead(dir_)->notice(), "");
}

TEST_F(InterruptedIssue, WhatReachedItsFolderWholeStays) {
  Settle("node-3", {});
  IssueNode("3");
  MarkUnfinished();
  EXPECT_THAT(Settle("node-3", {}), IsEmpty());
  EXPECT_FALSE(CertFolder::OpenToRead(dir_)->index().entries.back().is_unfinished)
      << "it would be revoked once its folder is taken away";
  MarkUnfinished();
  std::filesystem::remove(dir_ + "/node-3/tls.json");
  EXPECT_THAT(Settle("node-3", {}), testing::SizeIs(1)) << "not all of it";
}

TEST_F(InterruptedIssue, Pkcs12UnderAnotherPasswordIsBelieved) {
  Settle("node-3", {});
  ASSERT_TRUE(Open().Issue(Node("3"), Form::kP12, {"word", "word"}, kNow, {}).ok());
  for (const Passwords& passwords : {Passwords{"word", "word"}, Passwords{"other", "other"}, Passwords{}}) {
    MarkUnfinished();
    EXPECT_THAT(Settle("node-3", passwords), IsEmpty());
  }
  MarkUnfinished();
  std::filesystem::remove(dir_ + "/node-3/client.p12");
  EXPECT_THAT(Settle("node-3", {"other", "other"}), testing::SizeIs(1));
}

TEST_F(InterruptedIssue, AFolderThatWasTakenAwayIsNoReason) {
  IssueNode("4");
  std::filesystem::remove_all(dir_ + "/node-4");
  EXPECT_THAT(Settle("node-4", {}), IsEmpty()) << "its command came to the end";
}

TEST(TlsConfig, NamesWhatTheKindHas) {
  EXPECT_THAT(TlsConfigText(Kind::kScheduler, Form::kPem), HasSubstr("\"server_cert_path\": \"cert.pem\""));
  EXPECT_THAT(TlsConfigText(Kind::kScheduler, Form::kPem), testing::Not(HasSubstr("client_cert_path")));
  EXPECT_THAT(TlsConfigText(Kind::kNode, Form::kP12), HasSubstr("\"client_cert_path\": \"client.p12\""));
  EXPECT_THAT(TlsConfigText(Kind::kNode, Form::kP12), HasSubstr("\"server_cert_path\": \"server.p12\""));
  EXPECT_THAT(TlsConfigText(Kind::kAdmin, Form::kPem), testing::Not(HasSubstr("server_cert_path")));
}

}  // namespace
}  // namespace muster::certs
