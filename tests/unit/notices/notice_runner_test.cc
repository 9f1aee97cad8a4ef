// Real commands, with short limits.
#include "scheduler/notices/notice_runner.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

class NoticeRunnerTest : public testing::Test {
 protected:
  std::unique_ptr<NoticeRunner> Start(const std::string& command, absl::Duration limit = absl::Seconds(30)) {
    auto runner = NoticeRunner::Start({command, limit, nullptr}, Clock::System(), counted_);
    EXPECT_TRUE(runner.ok()) << runner.status();
    return *std::move(runner);
  }
  // Until the count is there, at most 20 s.
  uint64_t AwaitCount(const std::string& kind) {
    const MonotonicTime give_up = Clock::System().Read().monotonic + absl::Seconds(20);
    while (Clock::System().Read().monotonic < give_up) {
      const auto counts = counted_.Counts();
      if (const auto found = counts.find(kind); found != counts.end()) return found->second;
      poll(nullptr, 0, 5);
    }
    return 0;
  }

  CountedLog counted_{Clock::System()};
};

TEST_F(NoticeRunnerTest, ACommandThatHangsIsKilled) {
  const auto runner = Start("sleep 600 & sleep 600", absl::Milliseconds(100));
  runner->Add({"node_lost", "{}\n"});
  EXPECT_EQ(AwaitCount("--on_event"), 1u);
}

TEST_F(NoticeRunnerTest, MoreThanMayWaitAreDropped) {
  const auto runner = Start("sleep 600");
  for (size_t i = 0; i < NoticeRunner::kMostAtOnce + NoticeRunner::kMostWaiting + 1; ++i) runner->Add({"x", "{}\n"});
  EXPECT_GE(AwaitCount("--on_event dropped"), 1u);
}

TEST_F(NoticeRunnerTest, TheLargestNoticeFitsAlsoWhereNobodyReadsIt) {
  const std::string path = absl::StrCat(testing::TempDir(), "/notice_runner_test.", getpid());
  const auto runner = Start(absl::StrCat("test -e ", path, " || { cat > ", path, "; }; exit 1"));
  const std::string json = std::string(kMaxNoticeBytes - 1, 'x') + "\n";
  runner->Add({"x", json});
  EXPECT_EQ(AwaitCount("--on_event"), 1u);
  std::ostringstream found;
  found << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_EQ(found.str(), json);
}

}  // namespace
}  // namespace muster::scheduler
