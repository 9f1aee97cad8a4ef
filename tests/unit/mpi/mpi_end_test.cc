#include "worker_agent/gateway/mpi/mpi_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using testing::HasSubstr;

ProcessEnd Judged(const MpiProgress& progress, ProcessEnd end = {}) {
  JudgeMpiEnd(progress, end);
  return end;
}

TEST(MpiEndTest, AFinalizedRankEndsWell) {
  MpiProgress progress;
  progress.has_connected = progress.has_finalized = true;
  EXPECT_TRUE(Judged(progress).IsSuccess());
}

TEST(MpiEndTest, ASingletonFails) {
  const ProcessEnd end = Judged({});
  EXPECT_EQ(end.exit.code, 1);
  EXPECT_THAT(end.error_message, HasSubstr("rank 0 of 1"));
  EXPECT_THAT(end.error_message, HasSubstr("--mpi none"));
}

TEST(MpiEndTest, ARankThatDoesNotFinalizeFails) {
  MpiProgress progress;
  progress.has_connected = true;
  EXPECT_EQ(Judged(progress).exit.code, 1);
  EXPECT_THAT(Judged(progress).error_message, HasSubstr("MPI_Finalize"));
}

TEST(MpiEndTest, AFailureStaysAsItIs) {
  ProcessEnd end;
  end.exit.signal = 9;
  EXPECT_EQ(Judged({}, end).exit.signal, 9);
  EXPECT_EQ(Judged({}, end).error_message, "");
  end = {};
  end.was_stopped = true;
  EXPECT_TRUE(Judged({}, end).IsSuccess());
  end = {};
  end.launch_error = "not found";
  EXPECT_EQ(Judged({}, end).exit.code, 0);
}

TEST(MpiEndTest, AnAbortIsReported) {
  MpiProgress progress;
  progress.has_connected = progress.has_aborted = true;
  progress.abort_code = 5;
  progress.abort_message = "no more\nbread";
  ProcessEnd end;
  end.exit.code = 5;
  EXPECT_EQ(Judged(progress, end).exit.code, 5);
  EXPECT_EQ(Judged(progress, end).error_message, "MPI_Abort with code 5: no more\\nbread");
  EXPECT_EQ(Judged(progress).exit.code, 5);
  progress.abort_code = 256;
  EXPECT_EQ(Judged(progress).exit.code, 1);
  end.error_message = "its own";
  EXPECT_EQ(Judged(progress, end).error_message, "its own");
}

TEST(MpiEndTest, AnUnservedRequestIsReported) {
  MpiProgress progress;
  progress.error = "why";
  EXPECT_EQ(Judged(progress).exit.code, 1);
  EXPECT_EQ(Judged(progress).error_message, "why");
  ProcessEnd end;
  end.exit.signal = 9;
  EXPECT_EQ(Judged(progress, end).exit.code, 1);
  EXPECT_EQ(Judged(progress, end).exit.signal, 0);
}

}  // namespace
}  // namespace muster::agent
