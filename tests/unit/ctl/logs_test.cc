// `ms-ctl logs` against a real gRPC server that answers by a script.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/base/exit_codes.h"
#include "common/base/limits.h"
#include "common/base/mutex.h"
#include "common/show/log_text.h"
#include "ctl/commands/commands.h"
#include "muster/v1/admin.grpc.pb.h"

namespace muster::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

TEST(ShownText, WhatSteersATerminalIsEscapedAndLinesAndTabsStay) {
  EXPECT_EQ(ShownText("a\tb\nc\n"), "a\tb\nc\n");
  EXPECT_EQ(ShownText("\x1b[2J\xc2\x9b"
                      "2Jx\r\n"),
            "\\x1b[2J\\x9b2Jx\\r\n");
  EXPECT_EQ(ShownText("exe.\xe2\x80\xaegpj\n"), "exe.\\u202egpj\n");
  EXPECT_EQ(ShownText("no end"), "no end");
  EXPECT_EQ(ShownText(""), "");
}

TEST(ShownLines, GoesOnWhereWhatWasShownEnds) {
  ShownLines shown;
  shown.Add("1\n2\n3\n");
  EXPECT_THAT(shown.Rest({"1", "2", "3"}), Optional(IsEmpty()));
  EXPECT_THAT(shown.Rest({"2", "3", "4", "5"}), Optional(ElementsAre("4", "5")));
  EXPECT_THAT(shown.Rest({"device log", "3", "4"}), Optional(ElementsAre("4"))) << "what an agent puts in front";
  EXPECT_THAT(shown.Rest({"3", "1", "2", "3", "3"}), Optional(ElementsAre("3"))) << "the longest part counts";
  EXPECT_EQ(shown.Rest({"8", "9"}), std::nullopt);
  const std::string line(kMaxLastLineBytes + 100, 'x');
  shown.Add(line + "\n");
  EXPECT_THAT(shown.Rest({line.substr(0, kMaxLastLineBytes), "4"}), Optional(ElementsAre("4")));
}

TEST(ShownLines, OfNothingShownAllIsLeftIfThatIsAll) {
  EXPECT_THAT(ShownLines().Rest({"1", "2"}), Optional(ElementsAre("1", "2")));
  EXPECT_EQ(ShownLines().Rest(std::vector<std::string>(kMaxLastLines, "x")), std::nullopt);
}

// Gives one answer after the other; repeats the last one.
class ScriptedScheduler final : public v1::Admin::Service {
 public:
  void Say(v1::SlotLog log) {
    MutexLock lock(mutex_);
    logs_.push_back(std::move(log));
  }
  // After the script, run 4 has ended with this outcome, and run 5 is in progress.
  void EndWith(v1::Outcome outcome) {
    MutexLock lock(mutex_);
    outcome_ = std::move(outcome);
  }
  void Goes() {
    MutexLock lock(mutex_);
    is_gone_ = true;
  }

 private:
  grpc::Status GetLogs(grpc::ServerContext*, const v1::LogsRequest* request, v1::LogsReply* reply) override {
    MutexLock lock(mutex_);
    if (logs_.empty() && is_gone_) return {grpc::StatusCode::UNAVAILABLE, "gone"};
    if (logs_.empty()) return {grpc::StatusCode::FAILED_PRECONDITION, "run 4 of job train has ended"};
    reply->set_run(4);
    reply->set_rank(request->rank());
    reply->set_node_id("n");
    reply->set_host_name("host");
    *reply->mutable_log() = logs_.front();
    logs_.pop_front();
    return grpc::Status::OK;
  }
  grpc::Status GetStatus(grpc::ServerContext*, const v1::StatusRequest* request, v1::StatusReply* reply) override {
    MutexLock lock(mutex_);
    if (is_gone_) return {grpc::StatusCode::UNAVAILABLE, "gone"};
    v1::RunStatus& run = *reply->add_runs();
    run.set_job_id("train");
    run.set_run(request->run() == 0 ? 5 : request->run());
    run.set_phase(v1::RUN_PHASE_RUNNING);
    if (request->run() != 4) return grpc::Status::OK;
    run.set_phase(outcome_.succeeded() ? v1::RUN_PHASE_SUCCEEDED : v1::RUN_PHASE_FAILED);
    *run.mutable_outcome() = outcome_;
    return grpc::Status::OK;
  }

  Mutex mutex_;
  std::deque<v1::SlotLog> logs_ ABSL_GUARDED_BY(mutex_);
  v1::Outcome outcome_ ABSL_GUARDED_BY(mutex_);
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;
};

class LogsTest : public testing::Test {
 protected:
  LogsTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&scheduler_);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    settings_.sched_port = static_cast<uint16_t>(port);
    settings_.admin_socket = socket_;
    settings_.follow = true;
  }
  ~LogsTest() override {
    server_->Shutdown();
    unlink(socket_.c_str());
  }

  static v1::SlotLog Log(const std::string& text, uint32_t attempt = 0) {
    v1::SlotLog log;
    log.set_round(1);
    log.set_attempt(attempt);
    log.set_text(text);
    return log;
  }
  static v1::Outcome FailureOfRank(uint32_t rank, const std::vector<std::string>& last_lines) {
    v1::Outcome outcome;
    outcome.mutable_cause()->set_rank(rank);
    outcome.mutable_cause()->set_role(v1::ROLE_WORKER);
    for (const std::string& line : last_lines) outcome.mutable_cause()->add_last_lines(line);
    return outcome;
  }
  int Run(const std::string& rank = "3") {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = RunCommand({"logs", "train", rank}, settings_, table_);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const std::string socket_ = "/tmp/muster-logs-test-" + std::to_string(getpid()) + ".sock";
  CtlSettings settings_;
  SettingsTable table_ = CtlSettingsTable(settings_);
  ScriptedScheduler scheduler_;
  std::unique_ptr<grpc::Server> server_;
  std::string out_, err_;
};

TEST_F(LogsTest, WhatAFailureWroteAtLastIsShownThoughANewRunIsUnderWay) {
  scheduler_.Say(Log("one\n"));
  scheduler_.Say(Log("two\n"));
  scheduler_.EndWith(FailureOfRank(3, {"one", "two", "Traceback", "\x1b[31mboom"}));
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_EQ(out_, "one\ntwo\nTraceback\n\\x1b[31mboom\n");
  EXPECT_THAT(err_, Not(HasSubstr("missing")));
}

TEST_F(LogsTest, WhatDoesNotJoinIsToldToLeaveAGap) {
  scheduler_.Say(Log("one\n"));
  scheduler_.EndWith(FailureOfRank(3, {"eight", "nine"}));
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_EQ(out_, "one\neight\nnine\n");
  EXPECT_THAT(err_, HasSubstr("some before them may be missing"));
}

TEST_F(LogsTest, OfAnotherRankItIsToldThatTheEndMayBeMissing) {
  v1::SlotLog log = Log("one\n");
  scheduler_.Say(log);
  scheduler_.EndWith(FailureOfRank(2, {"boom"}));
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_EQ(out_, "one\n");
  EXPECT_THAT(err_, AllOf(HasSubstr("the last output of rank 3 may be missing"), HasSubstr("ms-ctl why train")));
  log.set_log_file("/logs/worker_3.log");
  scheduler_.Say(log);
  Run();
  EXPECT_THAT(err_, HasSubstr("may be missing: all of it is in /logs/worker_3.log on host"));
}

TEST_F(LogsTest, ALineWithoutEndIsShownOnceWhenItsProcessHasEnded) {
  v1::SlotLog log = Log("one\n");
  log.set_unfinished("no e");
  scheduler_.Say(log);
  log = Log("");
  log.set_unfinished("no end");
  log.set_has_ended(true);
  scheduler_.Say(log);
  scheduler_.Say(log);
  scheduler_.EndWith(FailureOfRank(3, {"one", "no end"}));
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_EQ(out_, "one\nno end\n");
  EXPECT_THAT(err_, Not(HasSubstr("missing")));
}

TEST_F(LogsTest, WithoutFollowALineWithoutEndIsShown) {
  settings_.follow = false;
  v1::SlotLog log = Log("one\n");
  log.set_unfinished("50 %");
  log.set_has_gap(true);
  scheduler_.Say(log);
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_EQ(out_, "one\n50 %\n");
  EXPECT_THAT(err_, Not(HasSubstr("left out"))) << "it was asked for its last lines only";
}

TEST_F(LogsTest, AGapIsReportedWhereTextFollowsItAlsoInANewAttempt) {
  scheduler_.Say(Log("one\n"));
  v1::SlotLog bar = Log("");
  bar.set_has_gap(true);
  scheduler_.Say(bar);
  scheduler_.Say(bar);
  scheduler_.EndWith(FailureOfRank(2, {}));
  Run();
  EXPECT_THAT(err_, Not(HasSubstr("left out")));
  scheduler_.Say(Log("one\n"));
  v1::SlotLog again = Log("900\n", /*attempt=*/1);
  again.set_has_gap(true);
  scheduler_.Say(again);
  Run();
  EXPECT_THAT(err_, AllOf(HasSubstr("attempt 1"), HasSubstr("lines are left out here")));
}

TEST_F(LogsTest, ASchedulerThatGoesAfterTheProcessHasEndedIsNoError) {
  v1::SlotLog log = Log("one\n");
  log.set_has_ended(true);
  scheduler_.Say(log);
  scheduler_.Goes();
  settings_.job_id = "train";
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_EQ(out_, "one\n");
  EXPECT_THAT(err_, HasSubstr("the scheduler has ended, as one with --once does after its job"));
}

TEST_F(LogsTest, JsonHasTheEndInTheSameShape) {
  settings_.json = true;
  scheduler_.Say(Log("one\n"));
  scheduler_.EndWith(FailureOfRank(3, {"one", "boom"}));
  EXPECT_EQ(Run(), kExitSuccess);
  EXPECT_THAT(out_, HasSubstr(R"("has_ended":true,"has_gap":false,"text":"boom\n")"));
}

}  // namespace
}  // namespace muster::ctl
