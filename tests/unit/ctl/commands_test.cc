// Runs every command of the table against a real gRPC server that notes the requests.
#include "ctl/commands/commands.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/exit_codes.h"
#include "muster/v1/admin.grpc.pb.h"

namespace muster::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The commands that change something, with the request that the scheduler gets. No other command may change anything.
const std::map<std::string, std::string>& Changing() {
  static const auto* const changing = new std::map<std::string, std::string>{
      {"stop", "StopRun"}, {"restart", "RESTART"}, {"fence", "FENCE"}, {"drain", "DRAIN"}, {"undrain", "UNDRAIN"}};
  return *changing;
}

class NotingScheduler final : public v1::Admin::Service {
 public:
  std::vector<std::string> changes;
  int questions = 0;
  bool is_over = false;   // whether the job is over
  std::string other_job;  // the name of a second job; empty: there is none
  std::string words;      // the text with which the server answers a change
  bool refuses = false;   // refuses a change

 private:
  grpc::Status GetStatus(grpc::ServerContext*, const v1::StatusRequest*, v1::StatusReply* reply) override {
    v1::RunStatus* run = reply->add_runs();
    run->set_job_id("train");
    run->set_run(1);
    run->set_phase(is_over ? v1::RUN_PHASE_SUCCEEDED : v1::RUN_PHASE_RUNNING);
    run->mutable_outcome()->set_succeeded(true);
    if (!other_job.empty()) reply->add_runs()->set_job_id(other_job);
    return Asked();
  }
  grpc::Status ListNodes(grpc::ServerContext*, const v1::NodesRequest*, v1::NodesReply*) override { return Asked(); }
  grpc::Status ListRanks(grpc::ServerContext*, const v1::RanksRequest*, v1::RanksReply*) override { return Asked(); }
  grpc::Status ListEvents(grpc::ServerContext*, const v1::EventsRequest*, v1::EventsReply*) override { return Asked(); }
  grpc::Status GetLogs(grpc::ServerContext*, const v1::LogsRequest*, v1::LogsReply*) override { return Asked(); }
  grpc::Status GetStacks(grpc::ServerContext*, const v1::StacksRequest*, v1::StacksReply*) override { return Asked(); }
  grpc::Status GetCounters(grpc::ServerContext*, const v1::CountersRequest*, v1::CountersReply*) override {
    return Asked();
  }
  grpc::Status StopRun(grpc::ServerContext*, const v1::StopRequest*, v1::StopReply*) override {
    changes.push_back("StopRun");
    return grpc::Status::OK;
  }
  grpc::Status SteerRun(grpc::ServerContext*, const v1::SteerRequest* request, v1::SteerReply* reply) override {
    changes.push_back(v1::SteerRequest::Action_Name(request->action()));
    reply->set_text(words);
    return refuses ? grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, words) : grpc::Status::OK;
  }
  grpc::Status Asked() {
    ++questions;
    return grpc::Status::OK;
  }
};

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&scheduler_);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    settings_.sched_port = static_cast<uint16_t>(port);
    settings_.admin_socket = socket_;
  }
  ~CommandsTest() override {
    if (server_ != nullptr) server_->Shutdown();
    unlink(socket_.c_str());
  }

  int Run(const std::vector<std::string>& words) {
    scheduler_.changes.clear();
    scheduler_.questions = 0;
    return RunCommand(words, settings_, table_);
  }

  const std::string socket_ = "/tmp/muster-commands-test-" + std::to_string(getpid()) + ".sock";
  CtlSettings settings_;
  SettingsTable table_ = CtlSettingsTable(settings_);
  NotingScheduler scheduler_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(CommandsTest, EachHasItsHandlerAndIsExplained) {
  for (const Command& command : Commands()) {
    EXPECT_FALSE(command.name.empty());
    EXPECT_FALSE(command.help.empty()) << command.name;
    EXPECT_NE(command.run, nullptr) << command.name;
  }
}

TEST_F(CommandsTest, OnlyTheNamedOnesChangeAnything) {
  settings_.output_file = "-";
  for (const Command& command : Commands()) {
    SCOPED_TRACE(command.name);
    scheduler_.is_over = command.name == "watch";
    const auto changing = Changing().find(command.name);
    if (changing == Changing().end()) {
      Run({command.name});
      EXPECT_THAT(scheduler_.changes, IsEmpty());
      if (command.argument.empty()) continue;
      Run({command.name, "0"});  // an argument that may be a job, a rank or a node
      EXPECT_THAT(scheduler_.changes, IsEmpty());
    } else {
      EXPECT_EQ(Run({command.name, "train"}), kExitSuccess);
      EXPECT_THAT(scheduler_.changes, ElementsAre(changing->second));
    }
  }
}

TEST_F(CommandsTest, AJobMayBeNamedBehindTheCommand) {
  scheduler_.other_job = "other";
  EXPECT_EQ(Run({"stop", "train"}), kExitSuccess);
  EXPECT_THAT(scheduler_.changes, ElementsAre("StopRun"));
  EXPECT_EQ(Run({"drain", "train", "node-1"}), kExitSuccess);
  EXPECT_THAT(scheduler_.changes, ElementsAre("DRAIN"));
  EXPECT_EQ(Run({"drain", "node-1"}), kExitJobFailed) << "two jobs, and none is named";
  EXPECT_EQ(Run({"drain", "train", "node-1", "more"}), kExitUsage);
  EXPECT_EQ(Run({"stop", "train", "more"}), kExitUsage);
  settings_.job_id = "other";
  settings_.is_job_on_line = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run({"why", "train"}), kExitUsage);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("name two jobs"));
  EXPECT_EQ(Run({"why", "other"}), kExitSuccess);
}

TEST_F(CommandsTest, StacksTakesAJobOrRanksOrBoth) {
  EXPECT_EQ(Run({"stacks", "train"}), kExitSuccess);
  EXPECT_EQ(Run({"stacks", "train", "0,2-3"}), kExitSuccess);
  EXPECT_EQ(Run({"stacks", "0,2-3"}), kExitSuccess);
  EXPECT_EQ(Run({"stacks", "0,x"}), kExitUsage);
  EXPECT_EQ(Run({"stacks", "train", "x"}), kExitUsage);
}

TEST_F(CommandsTest, LogsTakesARankAndPerhapsAJob) {
  EXPECT_EQ(Run({"logs", "3"}), kExitSuccess);
  EXPECT_EQ(Run({"logs", "train", "3"}), kExitSuccess);
  EXPECT_EQ(Run({"logs"}), kExitUsage);
  EXPECT_EQ(Run({"logs", "train"}), kExitUsage);
  EXPECT_EQ(Run({"logs", "train", "-1"}), kExitUsage);
}

TEST_F(CommandsTest, ASharedConfigFileIsReadAndOthersFlagsAreNot) {
  const std::string path = testing::TempDir() + "/commands_test." + std::to_string(getpid()) + ".conf";
  std::ofstream(path) << "sched_host = node7:9000\nworker_num = 4\nnode_timeout = 60\nlog_dir = logs\nonce = 1\n"
                         "nproc_per_node = 2\nMS_NODE_RANK = 1\n";
  const LoadResult loaded = LoadSettings(table_, {"status", "--config", path}, {});
  std::remove(path.c_str());
  EXPECT_THAT(loaded.findings.errors, IsEmpty());
  EXPECT_EQ(settings_.sched_host, "node7");
  EXPECT_EQ(settings_.sched_port, 9000);
  EXPECT_THAT(LoadSettings(table_, {"status", "--worker_num", "4", "--spare"}, {}).findings.errors,
              ElementsAre("--worker_num is for ms-worker, not for ms-ctl: leave it out",
                          "--spare is for ms-worker, not for ms-ctl: leave it out"));
}

TEST_F(CommandsTest, CompletionKnowsTheDaemons) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(Run({"completion", "bash"}), kExitSuccess);
  const std::string script = testing::internal::GetCapturedStdout();
  EXPECT_THAT(script, HasSubstr("--log_dir=file"));
  EXPECT_THAT(script, HasSubstr("--log_format=text|json"));
  EXPECT_THAT(
      script,
      HasSubstr(
          "why|status|nodes|ranks|events|top|logs|stacks|watch|preflight|report|stop|restart|ranktable|hostfile)"));
  EXPECT_THAT(script, HasSubstr("complete -F _ms_worker ms-worker"));
  EXPECT_THAT(script, Not(HasSubstr("@")));
}

TEST_F(CommandsTest, WhatChangesANodeIsNotForAllOfThem) {
  for (const char* word : {"fence", "drain", "undrain"}) {
    EXPECT_EQ(Run({word}), kExitUsage) << word;
    EXPECT_THAT(scheduler_.changes, IsEmpty()) << word;
  }
}

TEST_F(CommandsTest, AWordThatIsInNoRowIsRefused) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run({"stpo"}), kExitUsage);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("did you mean 'stop'?"));
  EXPECT_EQ(Run({""}), kExitUsage);
  EXPECT_THAT(scheduler_.changes, IsEmpty());
  EXPECT_EQ(scheduler_.questions, 0);
}

TEST_F(CommandsTest, HelpListsTheCommandsInGroupsWithALineEach) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(Run({"help"}), kExitSuccess);
  const std::string help = testing::internal::GetCapturedStdout();
  EXPECT_THAT(help, HasSubstr("\nLook at jobs:\n  why [JOB] "));
  EXPECT_THAT(help, HasSubstr("\nChange a job:\n  stop [JOB] "));
  EXPECT_THAT(help, HasSubstr("\n  --sched_host "));
  for (const Command& command : Commands()) {
    EXPECT_LE(command.help.size(), 80u) << command.name;
    EXPECT_THAT(help, HasSubstr("\n  " + command.Words() + " "));
    EXPECT_THAT(help, HasSubstr(" " + command.help + "\n"));
  }
}

TEST_F(CommandsTest, HelpExplainsOneCommand) {
  const auto help_of = [this](const std::string& name) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(Run({"help", name}), kExitSuccess);
    return testing::internal::GetCapturedStdout();
  };
  for (const Command& command : Commands()) {
    EXPECT_THAT(help_of(command.name), testing::StartsWith("Usage: ms-ctl " + command.Words()));
  }
  const std::string logs = help_of("logs");
  for (const char* word : {"logs [JOB] RANK [settings]\n", "\nExamples:\n  ms-ctl logs 3\n", "\n  --follow ",
                           "\n  --lines N                   Number", "\n  --job ID ", "\n  --sched_host "}) {
    EXPECT_THAT(logs, HasSubstr(word));
  }
  for (const char* word : {"--missing", "--form", "--admin_socket"}) EXPECT_THAT(logs, Not(HasSubstr(word)));
  EXPECT_THAT(help_of("journal"), AllOf(HasSubstr("\n  --json "), Not(HasSubstr("--sched_host"))));
  EXPECT_THAT(help_of("counters"), AllOf(HasSubstr("\n  --json "), Not(HasSubstr("--job"))));
  EXPECT_THAT(help_of("report"), AllOf(HasSubstr("\n  --output FILE "), Not(HasSubstr("--json"))));
  EXPECT_THAT(help_of("certs"), HasSubstr("--trust_domain"));
  EXPECT_EQ(scheduler_.questions, 0);
}

TEST_F(CommandsTest, HelpSuggestsTheNearestCommand) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run({"help", "lgos"}), kExitUsage);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("'logs'"));
}

TEST_F(CommandsTest, EachSettingOfSomeCommandsNamesCommands) {
  for (const Setting& setting : table_.settings()) {
    for (const std::string& name : setting.commands) EXPECT_NE(FindCommand(name), nullptr) << setting.flag;
  }
}

TEST_F(CommandsTest, WhatTheSchedulerSaysCanSteerNoTerminal) {
  scheduler_.words = "done\x1b[2J\nms-ctl: \u202Ehahaha";
  const char* shown = "done\\x1b[2J\\nms-ctl: \\u202ehahaha\n";
  testing::internal::CaptureStdout();
  EXPECT_EQ(Run({"restart", "train"}), kExitSuccess);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), shown);
  scheduler_.refuses = true;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Run({"restart", "train"}), kExitJobFailed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(shown));
}

// Bash would execute $(…) on TAB.
TEST_F(CommandsTest, CompletionHandsOnNothingButIds) {
  for (const char* job : {"$(touch here)", "`id`", "a b", "..", "x\ny"}) {
    scheduler_.other_job = job;
    testing::internal::CaptureStdout();
    EXPECT_EQ(Run({"completion", "jobs"}), kExitSuccess);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "train\n") << job;
  }
}

// main handles `certs` by itself only if it is the first word.
TEST_F(CommandsTest, CertsBehindASettingIsUsage) {
  for (const auto& words : {std::vector<std::string>{"certs"}, {"certs", "list"}}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(Run(words), kExitUsage);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("this word must come first"));
    EXPECT_THAT(scheduler_.changes, IsEmpty());
    EXPECT_EQ(scheduler_.questions, 0);
  }
}

}  // namespace
}  // namespace muster::ctl
