// Runs real commands, with short limits.
#include "scheduler/notices/notice_runner.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace muster::scheduler {
namespace {

class NoticeRunnerTest : public testing::Test {
 protected:
  std::unique_ptr<NoticeRunner> Start(const std::string& command, absl::Duration limit = absl::Seconds(30),
                                      absl::Duration drain_time = absl::ZeroDuration()) {
    auto runner = NoticeRunner::Start({command, limit, nullptr, drain_time}, Clock::System(), counted_);
    EXPECT_TRUE(runner.ok()) << runner.status();
    return *std::move(runner);
  }
  // Waits until the count is there, at most 20 s.
  uint64_t AwaitCount(const std::string& kind) {
    const MonotonicTime give_up = Clock::System().Read().monotonic + absl::Seconds(20);
    while (Clock::System().Read().monotonic < give_up) {
      const auto counts = counted_.Counts();
      if (const auto found = counts.find(kind); found != counts.end()) return found->second;
      poll(nullptr, 0, 5);
    }
    return 0;
  }
  // The content of the file that the test's commands write.
  std::string Written() const {
    std::ostringstream written;
    written << std::ifstream(path_).rdbuf();
    return written.str();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  const std::string path_ = absl::StrCat(testing::TempDir(), "/notice_runner_test.", getpid());
  CountedLog counted_{Clock::System()};
};

TEST_F(NoticeRunnerTest, ACommandThatHangsIsKilled) {
  const auto runner = Start("sleep 600 & sleep 600", absl::Milliseconds(100));
  runner->Add({"node_lost", "{}\n"});
  EXPECT_EQ(AwaitCount("--on_event"), 1u);
}

TEST_F(NoticeRunnerTest, MoreThanMayWaitAreDropped) {
  const auto runner = Start("sleep 600");
  for (size_t i = 0; i < NoticeRunner::kMaxAtOnce + NoticeRunner::kMaxWaiting + 1; ++i) runner->Add({"x", "{}\n"});
  EXPECT_GE(AwaitCount("--on_event dropped"), 1u);
}

TEST_F(NoticeRunnerTest, TheLargestNoticeFitsAlsoWithoutReader) {
  const auto runner = Start(absl::StrCat("test -e ", path_, " || { cat > ", path_, "; }; exit 1"));
  const std::string json = std::string(kMaxNoticeBytes - 1, 'x') + "\n";
  runner->Add({"x", json});
  EXPECT_EQ(AwaitCount("--on_event"), 1u);
  EXPECT_EQ(Written(), json);
}

TEST_F(NoticeRunnerTest, ALossMakesRoomForAFailure) {
  const std::string go = path_ + ".go";
  {
    const auto runner = Start(absl::StrCat("cat >> ", path_, "; while [ ! -e ", go, " ]; do sleep 0.01; done"),
                              absl::Seconds(30), absl::Seconds(30));
    for (size_t i = 0; i < NoticeRunner::kMaxAtOnce + NoticeRunner::kMaxWaiting + 1; ++i) {
      runner->Add({"node_lost", "lost\n"});
    }
    EXPECT_GE(AwaitCount("--on_event dropped"), 1u);
    for (const char* kind : {"job_failed", "budget_used_up", "certificate_ends"}) {
      runner->Add({kind, absl::StrCat(kind, "\n")});
    }
    std::ofstream(go) << "";
  }
  std::remove(go.c_str());
  const std::string written = Written();
  for (const char* kind : {"job_failed", "budget_used_up", "certificate_ends"}) {
    EXPECT_NE(written.find(kind), std::string::npos) << kind;
  }
}

TEST_F(NoticeRunnerTest, WhatWaitsIsToldBeforeTheEnd) {
  {
    NoticeRunner::Options options{absl::StrCat("sleep 0.1; cat >> ", path_), absl::Seconds(30), nullptr,
                                  absl::Seconds(30)};
    options.look = [](bool is_last) {
      return is_last ? std::vector<Notice>{{"node_lost", "6\n"}} : std::vector<Notice>();
    };
    const auto runner = NoticeRunner::Start(std::move(options), Clock::System(), counted_);
    ASSERT_TRUE(runner.ok()) << runner.status();
    for (size_t i = 0; i < NoticeRunner::kMaxAtOnce + 2; ++i) (*runner)->Add({"x", absl::StrCat(i, "\n")});
  }
  std::string written = Written();
  std::sort(written.begin(), written.end());
  EXPECT_EQ(written, "\n\n\n\n\n\n\n0123456");
  EXPECT_TRUE(counted_.Counts().empty());
}

TEST_F(NoticeRunnerTest, TheDrainIsBounded) {
  Start("sleep 600", absl::Seconds(600), absl::Milliseconds(100)).get()->Add({"x", "{}\n"});
  EXPECT_EQ(counted_.Counts()["--on_event"], 1u) << "it was killed, and that is logged";
}

TEST_F(NoticeRunnerTest, AnEndThatSomebodyElseTookIsNoSuccess) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  const auto runner = Start("true");
  runner->Add({"x", "{}\n"});
  EXPECT_EQ(AwaitCount("--on_event"), 1u);
  signal(SIGCHLD, before);
}

}  // namespace
}  // namespace muster::scheduler
