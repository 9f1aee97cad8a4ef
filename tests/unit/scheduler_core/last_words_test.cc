// These are real texts of Python 3.11, PyTorch 1.13 and 2, MindSpore and shells.
#include "scheduler/core/facts/last_words.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/reason.h"
#include "tests/unit/scheduler_core/reported_output.h"

namespace muster::scheduler {
namespace {

LastWords Read(const std::string& output, const std::string& error_message = "") {
  v1::ProcessEnded ended;
  ended.set_exit_code(1);
  ended.set_error_message(error_message);
  if (!output.empty()) ReportOutput(output, '\n', ended);
  return ReadLastWords(ended);
}

struct Case {
  const char* name;
  std::string output;
  absl::string_view reason;
  std::string quote;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class LastWordsOf : public testing::TestWithParam<Case> {};

TEST_P(LastWordsOf, AreKnown) {
  const LastWords words = Read(GetParam().output);
  EXPECT_EQ(words.reason, GetParam().reason);
  EXPECT_EQ(words.quote, GetParam().quote);
}

std::string NameOfCase(const testing::TestParamInfo<Case>& info) { return info.param.name; }

const Case kPython[] = {
    {"KeyError",
     "epoch 1\nTraceback (most recent call last):\n  File \"/job/train.py\", line 7, in <module>\n    lr = args['lr']\n"
     "         ~~~~^^^^^^\nKeyError: 'lr'",
     reason::kPythonException, "KeyError: 'lr'"},
    {"Chained",
     "Traceback (most recent call last):\n  File \"<string>\", line 3, in <module>\nKeyError: 'lr'\n\n"
     "The above exception was the direct cause of the following exception:\n\n"
     "Traceback (most recent call last):\n  File \"<string>\", line 5, in <module>\nValueError: bad\nlines",
     reason::kPythonException, "ValueError: bad"},
    {"UnderARanksPrefix",
     "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/job/train.py\", line 7, in <module>\n"
     "[rank0]:     main()\n[rank0]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB",
     reason::kDeviceOutOfMemory, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB"},
    {"HeadLost", "  File \"/job/model.py\", line 90, in forward\n    return self(x)\nRecursionError: maximum depth",
     reason::kPythonException, "RecursionError: maximum depth"},
    {"Repeated",
     "  File \"a.py\", line 1, in f\n    f()\n  [Previous line repeated 996 more times]\nRecursionError: maximum",
     reason::kPythonException, "RecursionError: maximum"},
    {"Syntax", "  File \"/job/se.py\", line 1\n    def f(\n         ^\nSyntaxError: '(' was never closed",
     reason::kPythonException, "SyntaxError: '(' was never closed"},
    {"WithoutMessage", "Traceback (most recent call last):\n  File \"<string>\", line 2, in <module>\nAssertionError",
     reason::kPythonException, "AssertionError"},
    {"MessageOnTheNextLines",
     "Traceback (most recent call last):\n  File \"<string>\", line 2, in <module>\nRuntimeError: \nsize mismatch",
     reason::kPythonException, "RuntimeError"},
    {"OfAModule",
     "Traceback (most recent call last):\n  File \"x.py\", line 2, in f\njson.decoder.JSONDecodeError: Expecting "
     "value: "
     "line 1 column 1 (char 0)",
     reason::kPythonException, "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"},
    {"IgnoredAtTheEnd",
     "Traceback (most recent call last):\n  File \"x.py\", line 2, in f\nKeyError: 'lr'\n"
     "Exception ignored in: <function Pool.__del__ at 0x7f>\nTraceback (most recent call last):\n"
     "  File \"pool.py\", line 9, in __del__\nAttributeError: 'NoneType' object has no attribute 'dumps'",
     reason::kPythonException, "KeyError: 'lr'"},
    {"AnotherThreadsLineBetween",
     "Traceback (most recent call last):\n  File \"x.py\", line 2, in f\nstep 12 loss 0.3\nKeyError: 'lr'",
     reason::kPythonException, "KeyError: 'lr'"},
    {"OutputAfterIt",
     "Traceback (most recent call last):\n  File \"x.py\", line 2, in f\nKeyError: 'lr'\nwandb: Synced 5 file(s)",
     reason::kPythonException, "KeyError: 'lr'"},
    {"Group",
     "  + Exception Group Traceback (most recent call last):\n  |   File \"x.py\", line 2, in <module>\n"
     "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
     "    | Traceback (most recent call last):\n    |   File \"x.py\", line 1, in f\n    | KeyError: 'lr'\n"
     "    +------------------------------------",
     reason::kPythonException, "KeyError: 'lr'"},
    {"Module",
     "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nModuleNotFoundError: No module named "
     "'mindspore'",
     reason::kMissingModule, "ModuleNotFoundError: No module named 'mindspore'"},
    {"MainModule", "/usr/bin/python3: No module named nomod", reason::kMissingModule,
     "/usr/bin/python3: No module named nomod"},
    {"Library",
     "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nImportError: libcudart.so.12: cannot "
     "open "
     "shared object file: No such file or directory",
     reason::kMissingLibrary,
     "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"},
    {"NoScript", "/usr/bin/python3: can't open file '/nonexist.py': [Errno 2] No such file or directory",
     reason::kMissingFile, "/usr/bin/python3: can't open file '/nonexist.py': [Errno 2] No such file or directory"},
    {"NoFile",
     "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nFileNotFoundError: [Errno 2] No such "
     "file or directory: '/data/train.bin'",
     reason::kMissingFile, "FileNotFoundError: [Errno 2] No such file or directory: '/data/train.bin'"},
    {"DiskFull",
     "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\nOSError: [Errno 28] No space left on "
     "device",
     reason::kDiskFull, "OSError: [Errno 28] No space left on device"},
    {"Memory", "Traceback (most recent call last):\n  File \"<string>\", line 2, in <module>\nMemoryError",
     reason::kOutOfMemory, "MemoryError"},
    {"TorchsMemory",
     "  File \"<string>\", line 2, in <module>\nRuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. "
     "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4503599627370496 bytes. Error code 12 (Cannot "
     "allocate memory)",
     reason::kOutOfMemory,
     "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried "
     "to allocate 4503599627370496 bytes. Error code 12 (Cannot allocate memory)"},
};
INSTANTIATE_TEST_SUITE_P(Python, LastWordsOf, testing::ValuesIn(kPython), NameOfCase);

const Case kFrameworks[] = {
    {"StorePort",
     "  File \"rendezvous.py\", line 177, in _create_c10d_store\n    return TCPStore(\n           ^^^^^^^^^\n"
     "RuntimeError: The server socket has failed to listen on any local network address. (errno: 98 - Address already "
     "in use).",
     reason::kPortInUse,
     "RuntimeError: The server socket has failed to listen on any local network address. (errno: 98 - Address already "
     "in use)."},
    {"GlooTimeout",
     "  File \"distributed_c10d.py\", line 1541, in all_reduce\n    work.wait()\n"
     "RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 4000ms for recv operation to "
     "complete",
     reason::kCollectiveTimeout,
     "RuntimeError: [./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 4000ms for recv operation to "
     "complete"},
    {"MonitoredBarrier",
     "  File \"distributed_c10d.py\", line 3218, in monitored_barrier\n"
     "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms\n Original exception: \n"
     "[./gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 2000ms for recv operation to complete",
     reason::kCollectiveTimeout, "RuntimeError: [Rank 0]: Rank 1 failed to pass monitoredBarrier in 2000 ms"},
    {"StoreTimeout",
     "  File \"distributed_c10d.py\", line 862, in _new_process_group_helper\nRuntimeError: Socket Timeout",
     reason::kCollectiveTimeout, "RuntimeError: Socket Timeout"},
    {"GlooPeerGone",
     "  File \"distributed_c10d.py\", line 1541, in all_reduce\n"
     "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:6859",
     reason::kPeerConnectionLost,
     "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:6859"},
    {"GlooPeerReset",
     "  File \"distributed_c10d.py\", line 1541, in all_reduce\n"
     "RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [127.0.0.1]:57504: Connection reset by peer",
     reason::kPeerConnectionLost,
     "RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read error [127.0.0.1]:57504: Connection reset by peer"},
    {"StoreAway",
     "  File \"rendezvous.py\", line 177, in _create_c10d_store\n"
     "TimeoutError: The client socket has timed out after 3s while trying to connect to (127.0.0.1, 29556).",
     reason::kPeerConnectionLost,
     "TimeoutError: The client socket has timed out after 3s while trying to connect to (127.0.0.1, 29556)."},
    {"NcclWatchdog",
     "terminate called after throwing an instance of 'c10::DistBackendError'\n  what():  [Rank 6] NCCL watchdog thread "
     "terminated with exception: [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=880, "
     "OpType=BROADCAST) ran for 1800902 milliseconds before timing out.\nframe #0: c10::Error::Error()",
     reason::kCollectiveTimeout,
     "[Rank 6] NCCL watchdog thread terminated with exception: [Rank 6] Watchdog caught collective operation timeout: "
     "WorkNCCL(SeqNum=880, OpType=BROADCAST) ran for 1800902 milliseconds before timing out."},
    {"NcclPeerGone",
     "  File \"distributed_c10d.py\", line 90, in barrier\ntorch.distributed.DistBackendError: NCCL error in: "
     "ProcessGroupNCCL.cpp:1275, remote process exited or there was a network error, NCCL version 2.14.3\n"
     "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
     reason::kPeerConnectionLost,
     "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, remote process exited or there was "
     "a "
     "network error, NCCL version 2.14.3"},
    {"HcclNotify",
     "EI0002: The wait execution of the Notify register times out. Reason: the Notify register has not "
     "received the Notify record from remote rank [3].",
     reason::kCollectiveTimeout,
     "EI0002: The wait execution of the Notify register times out. Reason: the Notify register has not received the "
     "Notify record from remote rank [3]."},
    {"Npu",
     "  File \"x.py\", line 1, in f\nRuntimeError: NPU out of memory. Tried to allocate 3.47 GiB (NPU 0; 60.97 GiB "
     "total)",
     reason::kDeviceOutOfMemory,
     "RuntimeError: NPU out of memory. Tried to allocate 3.47 GiB (NPU 0; 60.97 GiB total)"},
    {"Ascend", "Memory_Allocation_Failure(EL0004): Failed to allocate memory requested by GE module.",
     reason::kDeviceOutOfMemory,
     "Memory_Allocation_Failure(EL0004): Failed to allocate memory requested by GE module."},
    {"SharedMemory",
     "  File \"reductions.py\", line 1, in f\nRuntimeError: unable to write to file </torch_91_1>: No space left on "
     "device (28)",
     reason::kSharedMemoryFull, "RuntimeError: unable to write to file </torch_91_1>: No space left on device (28)"},
    {"BadAlloc", "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc",
     reason::kOutOfMemory, "std::bad_alloc"},
    {"Terminate", "terminate called after throwing an instance of 'int'", "",
     "terminate called after throwing an instance of 'int'"},
    {"Nothing", "loss 0.1\nbye", "", ""},
    {"Silence", "", "", ""},
};
INSTANTIATE_TEST_SUITE_P(Frameworks, LastWordsOf, testing::ValuesIn(kFrameworks), NameOfCase);

TEST(LastWords, TheErrorFileSpeaksFirst) {
  const LastWords words =
      Read("Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: another one",
           "KeyError: 'lr'\nmore");
  EXPECT_EQ(words.quote, "KeyError: 'lr'");
  EXPECT_EQ(words.reason, reason::kPythonException);
}

TEST(LastWords, AnErrorFileOfAnotherProgramIsNoException) {
  const LastWords words = Read("", "ring check: rank 2 can't be reached");
  EXPECT_EQ(words.quote, "ring check: rank 2 can't be reached");
  EXPECT_EQ(words.reason, "");
}

TEST(LastWords, WhatWasSaidLongBeforeHasBeenOvercome) {
  std::string output = "bind: Address already in use, trying the next port";
  for (int i = 0; i < 10; ++i) absl::StrAppend(&output, "\nstep ", i);
  EXPECT_EQ(Read(output).reason, "");
}

TEST(LastWords, WhatOtherLinesSayIsNotTheException) {
  EXPECT_EQ(Read("retrying: Address already in use\nTraceback (most recent call last):\n  File \"x.py\", line 1, in f\n"
                 "KeyError: 'lr'")
                .reason,
            reason::kPythonException);
}

TEST(LastWords, TheLinesSayWhyALaunchersCommandFailed) {
  const char launchers[] =
      "Traceback (most recent call last):\n  File \"run.py\", line 3, in <module>\n"
      "subprocess.CalledProcessError: Command '['cp', 'a', 'b']' returned non-zero exit status 1.";
  const LastWords words = Read(absl::StrCat("cp: error writing 'b': No space left on device\n", launchers));
  EXPECT_EQ(words.reason, reason::kDiskFull);
  EXPECT_EQ(words.quote, "cp: error writing 'b': No space left on device");
  EXPECT_EQ(Read(launchers).reason, reason::kPythonException);
  EXPECT_EQ(Read(absl::StrCat("Connection closed by peer\n", launchers)).reason, reason::kPeerConnectionLost);
}

TEST(LastWords, AConsequenceGivesWayToACauseOnly) {
  const char lost[] =
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nRuntimeError: Connection closed by peer";
  EXPECT_EQ(Read(absl::StrCat("torch.save: No space left on device\n", lost)).reason, reason::kDiskFull);
  EXPECT_EQ(Read(absl::StrCat("Watchdog got stuck for 600 s\n", lost)).quote,
            "RuntimeError: Connection closed by peer");
}

TEST(LastWords, AKilledChild) {
  EXPECT_TRUE(Read("  File \"dataloader.py\", line 1133, in _try_get_data\nRuntimeError: DataLoader worker (pid(s) "
                   "18750) exited unexpectedly")
                  .mentions_killed);
  EXPECT_FALSE(Read("  File \"x.py\", line 1, in f\nKeyError: 'lr'").mentions_killed);
}

TEST(LastWords, LongLinesAreCut) {
  const LastWords words = Read("  File \"x.py\", line 1, in f\nValueError: " + std::string(5000, 'x'));
  EXPECT_EQ(words.quote.size(), kMaxQuoteBytes);
}

TEST(LastWords, AnyBytesAreTaken) {
  for (const char* text :
       {":", " :", "  File \"", "  File \"\", line ", "\", line ", "\n\n", "\x80\xff: \x01", "a:b"}) {
    Read(absl::StrCat("  File \"x\", line 1\n", text));
    Read(text);
  }
}

}  // namespace
}  // namespace muster::scheduler
