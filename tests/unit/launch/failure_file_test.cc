#include "worker_agent/launch/failure_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/launch/temporary_folder.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

v1::Outcome Killed() {
  v1::Outcome outcome;
  outcome.set_ended_unix_ms(1795215870123);
  v1::Cause* cause = outcome.mutable_cause();
  cause->set_kind(v1::Cause::PROCESS_SIGNALED);
  cause->set_text("rank 3 on node2 was killed by signal 9 (SIGKILL)");
  cause->set_reason("killed_from_outside");
  cause->set_rank(3);
  cause->set_role(v1::ROLE_WORKER);
  cause->set_node_id("node2-1");
  cause->set_host_name("node2");
  cause->set_signal(9);
  cause->add_last_lines("epoch 1\tloss 0.3");
  cause->add_last_lines("\x1b[31mred\x1b[0m");
  cause->set_log_file("/logs/digits/3-20261120T230000Z/worker_3.log");
  cause->set_remedy("MS_ENABLE_RECOVERY=1 would have restarted it");
  return outcome;
}

TEST(FailureFile, NamesTheCause) {
  const TemporaryFolder folder;
  const std::string log_dir = folder.path() + "/logs/today";
  const absl::Status status = WriteFailureFile(log_dir, "digits", 3, Killed());
  ASSERT_TRUE(status.ok()) << status;
  const Json expected = Json::parse(R"json({
    "schema":"muster.failure/1","job":"digits","run":3,"kind":"PROCESS_SIGNALED","reason":"killed_from_outside",
    "cause":"rank 3 on node2 was killed by signal 9 (SIGKILL)","rank":3,"role":"worker","node_id":"node2-1",
    "host":"node2","exit_code":null,"signal":9,"signal_name":"SIGKILL",
    "last_lines":["epoch 1\tloss 0.3","\u001b[31mred\u001b[0m"],
    "log_file":"/logs/digits/3-20261120T230000Z/worker_3.log",
    "remedy":"MS_ENABLE_RECOVERY=1 would have restarted it","ended":"2026-11-20T23:04:30.123Z"})json");
  EXPECT_EQ(Json::parse(ReadAll(log_dir + "/failure.json")), expected);
}

TEST(FailureFile, WithoutARankSaysNull) {
  v1::Outcome outcome = Killed();
  outcome.mutable_cause()->clear_rank();
  outcome.mutable_cause()->clear_signal();
  outcome.mutable_cause()->clear_reason();
  const Json file = Json::parse(FailureText("j", 1, outcome));
  EXPECT_TRUE(file["rank"].is_null());
  EXPECT_TRUE(file["reason"].is_null());
  EXPECT_EQ(file["signal_name"], "");
}

TEST(FailureFile, BytesThatAreNoTextDoNoHarm) {
  v1::Outcome outcome = Killed();
  outcome.mutable_cause()->add_last_lines("\xff\xfe");
  for (int i = 0; i < 100; ++i) outcome.mutable_cause()->add_last_lines("more");
  EXPECT_EQ(Json::parse(FailureText("j", 1, outcome))["last_lines"].size(), 20u);
}

TEST(FailureFile, AFolderThatCannotBeMadeIsNamed) {
  const absl::Status status = WriteFailureFile("/proc/nothing", "j", 1, Killed());
  EXPECT_THAT(std::string(status.message()), HasSubstr("--log_dir"));
}

TEST(SignalName, Table) {
  EXPECT_EQ(SignalName(0), "");
  EXPECT_EQ(SignalName(9), "SIGKILL");
  EXPECT_EQ(SignalName(11), "SIGSEGV");
  EXPECT_EQ(SignalName(15), "SIGTERM");
  EXPECT_EQ(SignalName(50), "signal 50");
}

}  // namespace
}  // namespace muster::agent
