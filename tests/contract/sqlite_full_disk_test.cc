// The journal waits on a full disk; a disk that gives errors ends the process.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>

#include "scheduler/journal/sqlite_journal.h"
#include "tests/contract/journal_process.h"
#include "tests/contract/journal_testing.h"

namespace muster::scheduler {
namespace {

constexpr int kNotPermitted = 77;

#define REQUIRE(condition)                                                        \
  do {                                                                            \
    if (!(condition)) return std::fprintf(stderr, "not so: %s\n", #condition), 1; \
  } while (false)

// Mounts a file system of one megabyte over the folder. Only this process sees it.
bool MountSmallDisk(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=1m,mode=700") == 0;
}

// Takes all space; removing the file frees it.
void Fill(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  const std::string block(4'096, 'x');
  while (file << block << std::flush) {
  }
}

int StallAndRecover(const std::string& folder) {
  if (!MountSmallDisk(folder)) return kNotPermitted;
  const std::string path = folder + "/journal.db";
  const std::string ballast = folder + "/ballast";
  {
    auto journal = SqliteJournal::Open(path);
    REQUIRE(journal.ok());
    DurableWatch watch;
    watch.Attach(**journal);
    REQUIRE(watch.WaitFor((*journal)->Append({RecordOf("before")})));
    Fill(ballast);
    const std::string large(20'000, 'x');
    for (int i = 0; i < 10; ++i) (*journal)->Append({RecordOf(large)});
    REQUIRE(watch.WaitUntil([&] { return (*journal)->IsStalled(); }));
    const uint64_t last = (*journal)->Append({RecordOf("while it is full")});
    REQUIRE((*journal)->IsStalled());
    REQUIRE(watch.reported().back() < last);
    std::filesystem::remove(ballast);
    REQUIRE(watch.WaitFor(last));
    REQUIRE(!(*journal)->IsStalled());
    REQUIRE(watch.WaitFor((*journal)->Append({RecordOf("after")})));
  }
  auto journal = SqliteJournal::Open(path);
  REQUIRE(journal.ok());
  const std::vector<std::string> names = ReplayedNames(**journal);
  REQUIRE(names.size() == 13 && names.front() == "before" && names.back() == "after");
  return 0;
}

int EndWhileFull(const std::string& folder) {
  if (!MountSmallDisk(folder)) return kNotPermitted;
  const std::string path = folder + "/journal.db";
  {
    auto journal = SqliteJournal::Open(path);
    REQUIRE(journal.ok());
    DurableWatch watch;
    watch.Attach(**journal);
    REQUIRE(watch.WaitFor((*journal)->Append({RecordOf("acknowledged")})));
    Fill(folder + "/ballast");
    (*journal)->Append({RecordOf(std::string(20'000, 'x'))});
    REQUIRE(watch.WaitUntil([&] { return (*journal)->IsStalled(); }));
    (*journal)->Append({RecordOf("never acknowledged")});
    REQUIRE(watch.reported() == std::vector<uint64_t>{1});
  }
  auto journal = SqliteJournal::Open(path);  // the disk is still full, but all of the journal can be read
  REQUIRE(journal.ok());
  REQUIRE(ReplayedNames(**journal) == std::vector<std::string>{"acknowledged"});
  return 0;
}

int OpenOnAFullDisk(const std::string& folder) {
  if (!MountSmallDisk(folder)) return kNotPermitted;
  Fill(folder + "/ballast");
  const auto journal = SqliteJournal::Open(folder + "/journal.db");
  REQUIRE(!journal.ok());
  std::fprintf(stderr, "%s\n", journal.status().ToString().c_str());
  REQUIRE(absl::IsResourceExhausted(journal.status()));
  return 0;
}

void ExpectWell(int (*life)(const std::string& folder)) {
  const TempFolder folder;
  const int code = InAnotherProcess([&] { return life(folder.path()); });
  if (code == kNotPermitted) GTEST_SKIP() << "no file system can be mounted here";
  EXPECT_EQ(code, 0);
}

TEST(SqliteFullDisk, IsWaitedOut) { ExpectWell(StallAndRecover); }
TEST(SqliteFullDisk, IsNoReasonNotToEnd) { ExpectWell(EndWhileFull); }
TEST(SqliteFullDisk, HasNoRoomForANewJournal) { ExpectWell(OpenOnAFullDisk); }

[[noreturn]] void WriteBeyondTheLimit(const std::string& path) {
  auto journal = SqliteJournal::Open(path);
  DurableWatch watch;
  watch.Attach(**journal);
  watch.WaitFor((*journal)->Append({RecordOf("acknowledged")}));
  signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{20'000, 20'000};  // EFBIG, which free space would not fix
  setrlimit(RLIMIT_FSIZE, &limit);
  watch.WaitFor((*journal)->Append(std::vector<v1::Record>(100, RecordOf(std::string(1'000, 'x')))));
  std::_Exit(0);
}

TEST(SqliteBadDisk, EndsTheProcess) {
  const TempFolder folder;
  const std::string path = folder / "journal.db";
  EXPECT_EXIT(WriteBeyondTheLimit(path), ::testing::ExitedWithCode(1),
              "can't be written: .*File too large.*Start it again");
  auto journal = SqliteJournal::Open(path);
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ(ReplayedNames(**journal).front(), "acknowledged");
}

}  // namespace
}  // namespace muster::scheduler
