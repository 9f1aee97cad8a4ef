// These are real texts of Python, rich, IPython, torchrun and C++.
#include "common/causes/exceptions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/reason.h"

namespace muster {
namespace {

std::optional<RaisedException> Find(const std::string& output) { return FindException(absl::StrSplit(output, '\n')); }

constexpr char kScripts[] =
    "Traceback (most recent call last):\n  File \"/job/train.py\", line 7, in <module>\n    step(batch)\n"
    "ValueError: bad batch\n";

constexpr char kCalledProcess[] =
    "Traceback (most recent call last):\n  File \"/job/wrap.py\", line 3, in <module>\n    run()\n"
    "  File \"/usr/lib/python3.11/subprocess.py\", line 571, in run\n    raise CalledProcessError(retcode)\n"
    "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.\n";

constexpr char kTorchrun[] =
    "E1125 02:39:14 12 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: 1) local_rank: 0\n"
    "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
    "============================================================\ntrain.py FAILED\n"
    "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
    "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
    "  time      : 2026-11-25_02:39:14\n  host      : node1\n  rank      : 0 (local_rank: 0)\n"
    "  exitcode  : 1 (pid: 12)\n  error_file: <N/A>\n"
    "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n"
    "============================================================";

struct Case {
  const char* name;
  std::string output;
  std::string first_line;  // empty: no exception is found
  std::string file = "";
  uint32_t line = 0;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

const Case kCases[] = {
    {"Plain", kScripts, "ValueError: bad batch", "/job/train.py", 7},
    {"OfTheScriptNotOfALibrary",
     "Traceback (most recent call last):\n  File \"/job/train.py\", line 7, in <module>\n    f()\n"
     "  File \"/usr/lib/python3.11/site-packages/torch/a.py\", line 9, in f\n    g()\nKeyError: 'lr'",
     "KeyError: 'lr'", "/job/train.py", 7},
    {"BeforeTorchrunsSummary", absl::StrCat(kScripts, kTorchrun), "ValueError: bad batch", "/job/train.py", 7},
    {"BeforeCalledProcessError", absl::StrCat(kScripts, kCalledProcess), "ValueError: bad batch", "/job/train.py", 7},
    {"ALaunchersIsBetterThanNone", kCalledProcess,
     "subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.", "/job/wrap.py",
     3},
    {"UnderARanksPrefix",
     "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/job/train.py\", line 8, in <module>\n"
     "[rank1]:     main()\n[rank1]: KeyError: 'lr'",
     "KeyError: 'lr'", "/job/train.py", 8},
    {"RanksMixed",
     "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n"
     "[rank0]:   File \"/job/train.py\", line 8, in <module>\n[rank1]:   File \"/job/train.py\", line 9, in <module>\n"
     "[rank0]:     main()\n[rank1]:     main()\n[rank0]: KeyError: 'lr'\nepoch 1",
     "KeyError: 'lr'", "/job/train.py", 8},
    {"Rich",
     "╭───────────── Traceback (most recent call last) ─────────────╮\n"
     "│ /job/train.py:7 in <module>                                 │\n"
     "│                                                             │\n"
     "│ ❱ 7 step(batch)                                             │\n"
     "╰─────────────────────────────────────────────────────────────╯\nValueError: bad batch",
     "ValueError: bad batch", "/job/train.py", 7},
    {"IPython",
     "---------------------------------------------------------------------------\n"
     "ValueError                                Traceback (most recent call last)\n"
     "File /job/train.py:7, in step(batch)\n      6 def step(batch):\n----> 7     raise ValueError('bad batch')\n\n"
     "ValueError: bad batch",
     "ValueError: bad batch"},
    {"Chained",
     absl::StrCat(kScripts, "\nDuring handling of the above exception, another exception occurred:\n\n",
                  "Traceback (most recent call last):\n  File \"/job/train.py\", line 9, in <module>\nKeyError: 'lr'"),
     "KeyError: 'lr'", "/job/train.py", 9},
    {"HardwareBeforeTheTimeoutThatFollows",
     "Traceback (most recent call last):\n  File \"/job/a.py\", line 1, in <module>\n"
     "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered\n"
     "Traceback (most recent call last):\n  File \"/job/a.py\", line 2, in <module>\n"
     "RuntimeError: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)",
     "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", "/job/a.py", 1},
    {"ALineOfTheHardware",
     "NVRM: Xid 79, GPU has fallen off the bus.\nTraceback (most recent call last):\n"
     "  File \"/job/a.py\", line 2, in <module>\nRuntimeError: NCCL error: ncclRemoteError: a peer is gone",
     "NVRM: Xid 79, GPU has fallen off the bus."},
    {"Native", "terminate called after throwing an instance of 'c10::Error'\n  what():  bad tensor", "bad tensor"},
    {"Ignored",
     "Exception ignored in: <function a.__del__ at 0x7f>\nTraceback (most recent call last):\n"
     "  File \"/job/a.py\", line 2, in __del__\nAttributeError: 'a' has no b",
     ""},
    {"IgnoredInTheFramesOfAnother",
     "  File \"/job/a.py\", line 5, in dump\n"
     "Exception ignored in: <function a.__del__ at 0x7f>\nTraceback (most recent call last):\n"
     "  File \"/job/a.py\", line 2, in __del__\nAttributeError: 'a' has no b\n"
     "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/job/train.py\", line 8, in <module>\n"
     "[rank0]: KeyError: 'lr'",
     "KeyError: 'lr'", "/job/train.py", 8},
    {"AfterOneThatIsIgnoredWithoutATraceback",
     "Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\nBrokenPipeError: [Errno 32] Broken pipe\na\nb\nc\nd\n"
     "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/job/train.py\", line 8, in <module>\n"
     "[rank0]: KeyError: 'lr'",
     "KeyError: 'lr'", "/job/train.py", 8},
    {"WordsOfALogAfterATable", "╭──────────╮\n│ lr 0.1   │\n╰──────────╯\nIteration: 1200 loss 2.3\nWarning: no config",
     ""},
    {"None", "epoch 1\nepoch 2\nError: it is said, but nothing was raised", ""},
    {"Empty", "", ""},
};

class FindExceptionIn : public testing::TestWithParam<Case> {};

TEST_P(FindExceptionIn, TheOneThatSaysMost) {
  const std::optional<RaisedException> found = Find(GetParam().output);
  EXPECT_EQ(found ? found->FirstLine() : "", GetParam().first_line);
  if (!found || GetParam().file.empty()) return;
  EXPECT_EQ(found->file, GetParam().file);
  EXPECT_EQ(found->line, GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(Outputs, FindExceptionIn, testing::ValuesIn(kCases),
                         [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

TEST(FindException, TwoReportsOnOneLineAreTaken) {
  const std::string a = "terminate called after throwing an instance of 'A'\n";
  EXPECT_TRUE(Find(a + "  what():  terminate called after throwing an instance of 'B'\nCUDA error"));
  EXPECT_TRUE(Find(a + "terminate called after throwing an instance of 'B'  what():  x\n"));
  EXPECT_TRUE(
      Find("Traceback (most recent call last):\n  File \"/job/a.py\", line 1, in f\n" + a + "KeyError: what(): 'lr'"));
}

TEST(FindException, ThatWasOvercomeDoesNotCount) {
  std::string output = kScripts;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&output, "epoch ", i, "\n");
  EXPECT_FALSE(Find(output));
}

TEST(ReasonOf, TextBeforeType) {
  EXPECT_EQ(ReasonOf(ExceptionOfText("OSError: [Errno 28] No space left on device")), reason::kDiskFull);
  EXPECT_EQ(ReasonOf(ExceptionOfText("PermissionError: [Errno 13] a")), reason::kPermissionDenied);
  EXPECT_EQ(ReasonOf(ExceptionOfText("KeyError: 'lr'")), "");
}

TEST(ReasonOf, TheLinesThatFollowCountWhereTheySayMore) {
  EXPECT_EQ(ReasonOf(ExceptionOfText("KeyError: 'lr'\nwandb: Max retries exceeded with url: /a")), "");
  EXPECT_EQ(ReasonOf(ExceptionOfText("KeyError: 'lr'\n[rank1] Address already in use")), "");
  EXPECT_EQ(ReasonOf(ExceptionOfText("RuntimeError: a call failed\nINFO retrying: Name or service not known")), "");
  EXPECT_EQ(ReasonOf(ExceptionOfText("RuntimeError: a call failed\nEI0002: the notify timed out")),
            reason::kCollectiveTimeout);
  EXPECT_EQ(ReasonOf(ExceptionOfText("RuntimeError: EI0002: the notify timed out\nHBM MULTI BIT ECC ERROR")),
            reason::kDeviceFault);
  EXPECT_EQ(ReasonOf(ExceptionOfText("OSError: [Errno 28] No space left on device\nAddress already in use")),
            reason::kDiskFull);
}

TEST(CutException, KeepsTheLimits) {
  RaisedException exception{std::string(9000, 't'), std::string(9000, 'm'), std::string(9000, 'f'), 1, false};
  CutException(exception);
  EXPECT_EQ(exception.type.size(), kMaxShortTextBytes);
  EXPECT_EQ(exception.message.size(), kMaxExceptionBytes);
  EXPECT_EQ(exception.file, "") << "half a path names another file";
}

TEST(CutException, ReplacesControlCharacters) {
  RaisedException exception{"Key\x1b[2JError", "a\nb", "/job/a\n.py", 1, false};
  CutException(exception);
  EXPECT_EQ(exception.type, "Key?[2JError");
  EXPECT_EQ(exception.message, "a\nb");
  EXPECT_EQ(exception.file, "/job/a?.py");
}

std::string Repeated(absl::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes) absl::StrAppend(&text, piece);
  return text;
}

// Returns processor time, so that other processes don't count; the best of three runs.
double SecondsFor(const std::string& output) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    (void)Find(output);
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

// Four times the text takes four times as long if the time is linear, 16 times if it is quadratic. The limit is in
// between.
TEST(FindException, TakesTimeInProportionToAHostileText) {
  for (const absl::string_view piece : {"a",
                                        "(",
                                        "a\n",
                                        "(\n",
                                        "\n",
                                        "Traceback (most recent call last)",
                                        "Traceback (most recent call last):\n",
                                        "Traceback (most recent call last):\n  File \"a\", line 1\nE: x\n",
                                        "  File \"a\", line 1\n",
                                        "File \"",
                                        "╭─ Traceback (most recent call last) ─╮\n",
                                        "│ a:1 in b\n",
                                        "╰─\n",
                                        "el0004",
                                        "ei0002:\n",
                                        "terminate called after throwing an instance of 'a'\n",
                                        "Exception ignored in\n",
                                        "no space left on device\n",
                                        "uncorrectable ecc error encountered\n",
                                        "torch.ChildFailedError: \n"}) {
    const double small = SecondsFor(Repeated(piece, 32 << 10));
    const double large = SecondsFor(Repeated(piece, 128 << 10));
    EXPECT_LT(large, 10 * small + 0.01) << piece;
  }
}

}  // namespace
}  // namespace muster
