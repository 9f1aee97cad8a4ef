#include "scheduler/core/facts/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "common/base/reason.h"
#include "tests/unit/scheduler_core/reported_output.h"

namespace muster::scheduler {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kKeyError[] = "  File \"train.py\", line 7, in <module>\nKeyError: 'lr'";
constexpr char kDataLoader[] =
    "  File \"dataloader.py\", line 1133, in f\nRuntimeError: DataLoader worker (pid(s) 18750) exited unexpectedly";

struct End {
  int exit_code = 0;
  int signal = 0;
  std::string output = "";
  bool was_short_of_memory = false;
  std::string launch_error = "";
  std::string launch_reason = "";
};

v1::ProcessEnded Ended(const End& end) {
  v1::ProcessEnded ended;
  ended.set_exit_code(end.exit_code);
  ended.set_signal(end.signal);
  ended.set_launch_error(end.launch_error);
  ended.set_launch_reason(end.launch_reason);
  ReportOutput(end.output, '\n', ended);
  if (end.was_short_of_memory) {
    ended.mutable_memory()->set_limit_bytes(512ull << 20);
    ended.mutable_memory()->set_peak_bytes(512ull << 20);
  }
  return ended;
}

TEST(Diagnose, EachRow) {
  struct {
    End end;
    absl::string_view reason;
    std::string what;
  } const table[] = {
      {{.exit_code = 127, .launch_error = "no such file"}, reason::kCommandNotFound, "no such file"},
      {{.exit_code = 126, .launch_error = "permission denied"}, reason::kCannotStart, "permission denied"},
      {{.exit_code = 126, .launch_error = "no room", .launch_reason = "disk_full"}, reason::kDiskFull, "no room"},
      {{.exit_code = 126, .launch_error = "x", .launch_reason = "a_word_of_tomorrow"}, "a_word_of_tomorrow", "x"},
      {{.signal = SIGKILL, .was_short_of_memory = true},
       reason::kOutOfMemory,
       "out of memory: the kernel killed it, its control group's limit is 512 MiB and its peak was 512 MiB"},
      {{.exit_code = 1, .output = kDataLoader, .was_short_of_memory = true},
       reason::kOutOfMemory,
       "RuntimeError: DataLoader worker (pid(s) 18750) exited unexpectedly; out of memory: the kernel killed one of "
       "its processes, its control group's limit is 512 MiB and its peak was 512 MiB"},
      {{.exit_code = 137, .was_short_of_memory = true},
       reason::kOutOfMemory,
       "out of memory: the kernel killed one of its processes, its control group's limit is 512 MiB and its peak was "
       "512 MiB"},
      {{.exit_code = 1, .output = kKeyError, .was_short_of_memory = true}, reason::kPythonException, "KeyError: 'lr'"},
      {{.signal = SIGKILL}, reason::kKilledFromOutside, ""},
      {{.signal = SIGKILL, .output = kKeyError}, reason::kKilledFromOutside, ""},
      {{.signal = SIGTERM}, reason::kKilledFromOutside, ""},
      {{.signal = SIGILL}, reason::kIllegalInstruction, ""},
      {{.signal = SIGSEGV}, reason::kSegmentationFault, ""},
      {{.signal = SIGBUS}, reason::kBusError, ""},
      {{.signal = SIGABRT}, reason::kAborted, ""},
      {{.signal = SIGABRT,
        .output = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  "
                  "std::bad_alloc"},
       reason::kOutOfMemory,
       "std::bad_alloc"},
      {{.signal = SIGABRT, .output = absl::StrCat(kKeyError, "\nterminate called without an active exception")},
       reason::kPythonException,
       "KeyError: 'lr'"},
      {{.signal = SIGABRT, .output = kKeyError}, reason::kAborted, "KeyError: 'lr'"},
      {{.signal = SIGFPE}, reason::kArithmeticError, ""},
      {{.signal = SIGXFSZ}, reason::kResourceLimit, ""},
      {{.signal = 42}, "", ""},
      {{.exit_code = 1, .output = kKeyError}, reason::kPythonException, "KeyError: 'lr'"},
      {{.exit_code = 127, .output = "bash: line 1: trian: command not found"},
       reason::kCommandNotFound,
       "bash: line 1: trian: command not found"},
      {{.exit_code = 126}, reason::kCannotStart, ""},
      {{.exit_code = 137}, reason::kKilledFromOutside, "one of its commands was killed by SIGKILL"},
      {{.exit_code = 139}, reason::kSegmentationFault, "one of its commands was killed by SIGSEGV"},
      {{.exit_code = 3}, "", ""},
      {{.exit_code = 255}, "", ""},
  };
  for (const auto& row : table) {
    const Diagnosis diagnosis = Diagnose(Ended(row.end));
    EXPECT_EQ(diagnosis.reason, row.reason) << row.end.exit_code << "/" << row.end.signal << ": " << row.end.output;
    EXPECT_EQ(diagnosis.what, row.what);
  }
}

TEST(Diagnose, MemoryWithoutALimitOrAPeak) {
  v1::ProcessEnded ended = Ended({.signal = SIGKILL});
  ended.mutable_memory();
  EXPECT_EQ(Diagnose(ended).what, "out of memory: the kernel killed it");
  ended.mutable_memory()->set_limit_bytes(3ull << 30);
  EXPECT_EQ(Diagnose(ended).what, "out of memory: the kernel killed it, its control group's limit is 3 GiB");
}

v1::Cause CauseOf(absl::string_view reason, v1::Cause::Kind kind = v1::Cause::PROCESS_EXITED) {
  v1::Cause cause;
  cause.set_kind(kind);
  cause.set_reason(std::string(reason));
  cause.set_host_name("gpu7");
  cause.set_exit_code(1);
  return cause;
}

constexpr absl::string_view kAll[] = {
    reason::kAborted,
    reason::kArithmeticError,
    reason::kBusError,
    reason::kCannotStart,
    reason::kCommandNotFound,
    reason::kDeviceOutOfMemory,
    reason::kDiskFull,
    reason::kIllegalInstruction,
    reason::kMissingFile,
    reason::kMissingLibrary,
    reason::kMissingModule,
    reason::kOutOfMemory,
    reason::kPermissionDenied,
    reason::kPortInUse,
    reason::kPythonException,
    reason::kResourceLimit,
    reason::kSegmentationFault,
    reason::kSharedMemoryFull,
    reason::kTooManyOpenFiles,
    reason::kBadPath,
    reason::kCommandTooLong,
    reason::kExecFormatError,
    reason::kIoError,
    reason::kProgramBusy,
    reason::kReadOnlyFileSystem,
    reason::kWrongSettings,
    reason::kDamagedFile,
    reason::kDeviceBusy,
    reason::kDeviceFault,
    reason::kDeviceKernelFailed,
    reason::kDeviceMissing,
    reason::kDuplicateDevice,
    reason::kHostNotResolved,
    reason::kInterfaceNotFound,
    reason::kLibraryMismatch,
    reason::kNetworkUnreachable,
    reason::kRankTableInvalid,
    reason::kRanksDiffer,
    reason::kServerUnreachable,
};
constexpr absl::string_view kPassing[] = {reason::kKilledFromOutside, reason::kCollectiveTimeout,
                                          reason::kPeerConnectionLost, reason::kNodeLost, reason::kAgentEnded};

TEST(RemedyOf, EachReasonHasItsAdviceAndOnlyThePassingOnesNameRecovery) {
  for (const absl::string_view reason : kAll) {
    EXPECT_NE(RemedyOf(CauseOf(reason), {}), "") << reason;
    EXPECT_THAT(RemedyOf(CauseOf(reason), {}), Not(HasSubstr("MS_ENABLE_RECOVERY"))) << reason;
    EXPECT_THAT(RemedyOf(CauseOf(reason), {.recovers = true, .has_given_up = true}), Not(HasSubstr("--max_restarts")));
  }
  for (const absl::string_view reason : kPassing) {
    EXPECT_THAT(RemedyOf(CauseOf(reason), {}), HasSubstr("with MS_ENABLE_RECOVERY=1 on every node")) << reason;
    EXPECT_THAT(RemedyOf(CauseOf(reason), {.recovers = true}), Not(HasSubstr("MS_ENABLE_RECOVERY"))) << reason;
    EXPECT_THAT(RemedyOf(CauseOf(reason), {.recovers = true, .has_given_up = true}), HasSubstr("--max_restarts"));
  }
}

TEST(RemedyOf, WhatCantBeExecutedIsNotSaidToLackItsMode) {
  EXPECT_THAT(RemedyOf(CauseOf(reason::kCannotStart, v1::Cause::LAUNCH_FAILED), {}),
              Not(HasSubstr("make the program")));
}

TEST(RemedyOf, WhatIsNotKnown) {
  v1::Cause cause = CauseOf("");
  cause.set_text("rank 0 ended with exit code 1");
  EXPECT_EQ(RemedyOf(cause, {}), "look for the meaning of exit code 1 in the program's own output");
  cause.set_text("rank 0 ended with exit code 1: the ring is broken between ranks 1 and 2");
  EXPECT_EQ(RemedyOf(cause, {}), "") << "it has said what it means";
  EXPECT_EQ(RemedyOf(CauseOf("", v1::Cause::PROCESS_SIGNALED), {}), "");
  EXPECT_EQ(RemedyOf(CauseOf(""), {.recovers = true, .has_given_up = true}),
            "fix what fails; --max_restarts allows more restarts");
}

TEST(RemedyOf, AnAgentThatWasKilledIsNotAMachineThatIsDown) {
  v1::Cause cause = CauseOf(reason::kAgentEnded, v1::Cause::NODE_LOST);
  EXPECT_THAT(RemedyOf(cause, {}), testing::StartsWith("with MS_ENABLE_RECOVERY=1"));
  cause.set_signal(SIGKILL);
  EXPECT_THAT(RemedyOf(cause, {}), HasSubstr("something outside the job ended it"));
  EXPECT_THAT(RemedyOf(CauseOf(reason::kNodeLost, v1::Cause::NODE_LOST), {}), HasSubstr("check that gpu7 is up"));
}

TEST(RemedyOf, NamesTheHostAndTheNodesWaitedFor) {
  EXPECT_EQ(RemedyOf(CauseOf(reason::kDiskFull), {}),
            "make room on gpu7 where it writes (`df -h` and `df -i` show what is full), or have it write elsewhere");
  EXPECT_EQ(RemedyOf(CauseOf(reason::kCollectiveTimeout), {.recovers = true, .waited_for = "rank 3 on gpu8"}),
            "look first at rank 3 on gpu8");
}

TEST(IsOfAPeer, OnlyWhatSaysThatAnotherDidNotAnswer) {
  EXPECT_TRUE(IsOfAPeer(reason::kCollectiveTimeout));
  EXPECT_TRUE(IsOfAPeer(reason::kPeerConnectionLost));
  EXPECT_FALSE(IsOfAPeer(reason::kPythonException));
  EXPECT_FALSE(IsOfAPeer(""));
}

}  // namespace
}  // namespace muster::scheduler
