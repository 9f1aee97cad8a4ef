// Tells runs that were stopped from those that failed, and checks the exit code of programs that watch them.
#include "common/causes/outcome.h"

#include <gtest/gtest.h>

#include <csignal>

#include "common/base/exit_codes.h"

namespace muster {
namespace {

v1::Outcome Of(v1::Cause::Kind kind, int signal = 0) {
  v1::Outcome outcome;
  outcome.mutable_cause()->set_kind(kind);
  outcome.mutable_cause()->set_signal(signal);
  return outcome;
}

TEST(Outcome, APersonsStopIsNoFailure) {
  EXPECT_TRUE(WasStopped(Of(v1::Cause::STOPPED_BY_USER)));
  EXPECT_TRUE(WasStopped(Of(v1::Cause::NODE_LEFT, SIGINT))) << "Ctrl-C at an agent";
  EXPECT_FALSE(WasStopped(Of(v1::Cause::NODE_LEFT, SIGTERM))) << "its machine shuts down, or its pod is evicted";
  EXPECT_FALSE(WasStopped(Of(v1::Cause::NODE_LEFT, SIGKILL))) << "its keeper was killed";
  EXPECT_FALSE(WasStopped(Of(v1::Cause::NODE_LEFT))) << "a node that left by itself";
  EXPECT_FALSE(WasStopped(Of(v1::Cause::SCHEDULER_STOPPED)));
  EXPECT_FALSE(WasStopped(Of(v1::Cause::PROCESS_SIGNALED, SIGTERM)));
  EXPECT_FALSE(WasStopped(v1::Outcome())) << "it has not ended";
}

TEST(Outcome, HasAnExitCode) {
  v1::Outcome done;
  done.set_succeeded(true);
  EXPECT_EQ(ExitCodeOf(done), kExitSuccess);
  EXPECT_EQ(ExitCodeOf(Of(v1::Cause::STOPPED_BY_USER)), kExitStopped);
  EXPECT_EQ(ExitCodeOf(Of(v1::Cause::NEVER_FORMED)), kExitNeverFormed);
  EXPECT_EQ(ExitCodeOf(Of(v1::Cause::PROCESS_EXITED)), kExitJobFailed);
}

}  // namespace
}  // namespace muster
