#include "worker_agent/launch_error/launch_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "common/base/os_error.h"
#include "common/base/reason.h"
#include "worker_agent/launch_error/execute.h"

namespace muster::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Step = LaunchStep;

struct Case {
  Step step;
  int error;
  int exit_code;
  absl::string_view reason;
  const char* remedy;  // a part of it
};

const Case kCases[] = {
    {Step::kProgram, ENOENT, 127, reason::kCommandNotFound, "in PATH on {host}"},
    {Step::kProgram, ENOTDIR, 127, reason::kCommandNotFound, "no folder on {host}"},
    {Step::kProgram, EACCES, 126, reason::kCannotStart, "chmod +x"},
    {Step::kProgram, EISDIR, 126, reason::kCannotStart, "not a folder"},
    {Step::kProgram, EPERM, 126, reason::kPermissionDenied, "security module"},
    {Step::kProgram, ENOEXEC, 126, reason::kExecFormatError, "made for {host}"},
    {Step::kProgram, EINVAL, 126, reason::kExecFormatError, "damaged"},
    {Step::kProgram, ELIBBAD, 126, reason::kExecFormatError, "loader"},
    {Step::kProgram, ETXTBSY, 126, reason::kProgramBusy, "fuser"},
    {Step::kProgram, E2BIG, 126, reason::kCommandTooLong, "ulimit -s"},
    {Step::kProgram, ELOOP, 126, reason::kBadPath, "loop"},
    {Step::kProgram, ENAMETOOLONG, 126, reason::kBadPath, "255 bytes"},
    {Step::kProgram, ENOMEM, 126, reason::kOutOfMemory, "more memory"},
    {Step::kProgram, EAGAIN, 126, reason::kResourceLimit, "raise the limit"},
    {Step::kProgram, EIO, 126, reason::kIoError, "install it elsewhere"},
    {Step::kInterpreter, ENOENT, 127, reason::kCommandNotFound, "install that interpreter"},
    {Step::kInterpreter, ENOTDIR, 127, reason::kCommandNotFound, "install that interpreter"},
    {Step::kInterpreter, EACCES, 126, reason::kCannotStart, "executable"},
    {Step::kInterpreter, ENOEXEC, 126, reason::kExecFormatError, "build of that interpreter"},
    {Step::kProcess, EAGAIN, 126, reason::kResourceLimit, "fewer processes"},
    {Step::kProcess, ENOMEM, 126, reason::kOutOfMemory, "ulimit -v"},
    {Step::kProcess, EPERM, 126, reason::kPermissionDenied, "seccomp"},
    {Step::kFolder, ENOENT, 126, reason::kMissingFile, "working folder"},
    {Step::kFolder, EACCES, 126, reason::kPermissionDenied, "start in another folder"},
    {Step::kFolder, ENOTDIR, 126, reason::kBadPath, "no folder"},
    {Step::kCpus, EINVAL, 126, reason::kWrongSettings, "--bind_core"},
    {Step::kCpus, EPERM, 126, reason::kPermissionDenied, "--bind_core"},
    {Step::kStreams, ENOENT, 126, reason::kMissingFile, "/dev/null"},
    {Step::kStreams, EACCES, 126, reason::kPermissionDenied, "/dev/null"},
    {Step::kStreams, EMFILE, 126, reason::kTooManyOpenFiles, "ulimit -n"},
    {Step::kStreams, ENFILE, 126, reason::kTooManyOpenFiles, "fs.file-max"},
    {Step::kWorkFile, ENOSPC, 126, reason::kDiskFull, "or set TMPDIR to another folder"},
    {Step::kWorkFile, EDQUOT, 126, reason::kDiskFull, "quota"},
    {Step::kWorkFile, EROFS, 126, reason::kReadOnlyFileSystem, "TMPDIR"},
    {Step::kWorkFile, EACCES, 126, reason::kPermissionDenied, "TMPDIR"},
    {Step::kWorkFile, EPERM, 126, reason::kPermissionDenied, "TMPDIR"},
    {Step::kWorkFile, ENOENT, 126, reason::kMissingFile, "TMPDIR"},
    {Step::kWorkFile, ENOTDIR, 126, reason::kBadPath, "TMPDIR"},
    {Step::kWorkFile, EISDIR, 126, reason::kBadPath, "a folder has that name"},
    {Step::kWorkFile, EEXIST, 126, reason::kBadPath, "something else has that name"},
    {Step::kWorkFile, ELOOP, 126, reason::kBadPath, "symbolic links"},
    {Step::kWorkFile, ENAMETOOLONG, 126, reason::kBadPath, "shorten the path"},
    {Step::kWorkFile, EMFILE, 126, reason::kTooManyOpenFiles, "ulimit -n"},
    {Step::kWorkFile, ENFILE, 126, reason::kTooManyOpenFiles, "fs.file-max"},
    {Step::kWorkFile, ENOMEM, 126, reason::kOutOfMemory, "more memory"},
    {Step::kWorkFile, ENOBUFS, 126, reason::kOutOfMemory, "more memory"},
    {Step::kWorkFile, EFBIG, 126, reason::kResourceLimit, "ulimit -f"},
    {Step::kWorkFile, ETXTBSY, 126, reason::kProgramBusy, "written to"},
    {Step::kWorkFile, EIO, 126, reason::kIoError, "dmesg"},
    {Step::kWorkFile, ESTALE, 126, reason::kIoError, "mount"},
    {Step::kWorkFile, ENXIO, 126, reason::kIoError, "device"},
    {Step::kWorkFile, ENODEV, 126, reason::kIoError, "device"},
    {Step::kWorkFile, ETIMEDOUT, 126, reason::kIoError, "file server"},
    {Step::kWorkFile, EHOSTDOWN, 126, reason::kIoError, "file server"},
    {Step::kWorkFile, EINVAL, 126, reason::kCannotStart, "look on {host}"},
    {Step::kLogFile, ENOSPC, 126, reason::kDiskFull, "or name another folder with --log_dir"},
    {Step::kLogFile, EROFS, 126, reason::kReadOnlyFileSystem, "--log_dir"},
    {Step::kOwnProgram, ENOENT, 126, reason::kMissingFile, "all programs of Muster"},
    {Step::kOwnProgram, ELIBACC, 126, reason::kMissingLibrary, "ldd"},
    {Step::kOwnProgram, ENOEXEC, 126, reason::kExecFormatError, "build of Muster"},
    {Step::kStreams, EADDRINUSE, 126, reason::kPortInUse, "--port_range"},
    {Step::kOther, EADDRNOTAVAIL, 126, reason::kWrongSettings, "--worker_ip"},
    {Step::kOther, EADDRINUSE, 126, reason::kPortInUse, "ss -ltnp"},
    {Step::kSettings, 0, 126, reason::kWrongSettings, ""},
    {Step::kInternal, 0, 126, reason::kCannotStart, "ms-ctl report"},
    {Step::kOther, 0, 126, reason::kCannotStart, "look on {host}"},
};

TEST(DiagnoseLaunch, EachRow) {
  for (const Case& one : kCases) {
    const LaunchDiagnosis diagnosis = DiagnoseLaunch(one.step, one.error);
    const std::string where = absl::StrCat("step ", static_cast<int>(one.step), ", errno ", one.error);
    EXPECT_EQ(diagnosis.exit_code, one.exit_code) << where;
    EXPECT_EQ(diagnosis.reason, one.reason) << where;
    EXPECT_THAT(diagnosis.remedy, AllOf(HasSubstr(one.remedy), Not(HasSubstr("{or}")))) << where;
  }
}

TEST(DiagnoseLaunch, NoErrnoIsWithoutAWordAndOnlyExecSaysToMakeSomethingExecutable) {
  for (int step = 0; step <= static_cast<int>(Step::kInternal); ++step) {
    for (int error = 0; error <= 140; ++error) {
      const LaunchDiagnosis diagnosis = DiagnoseLaunch(static_cast<Step>(step), error);
      EXPECT_NE(diagnosis.reason, "") << step << ", " << error;
      EXPECT_LE(diagnosis.reason.size(), reason::kMaxBytes);
      EXPECT_LE(diagnosis.remedy.size(), 300U) << "it must fit into a report";
      const bool is_exec = static_cast<Step>(step) == Step::kProgram || static_cast<Step>(step) == Step::kInterpreter;
      if (is_exec) continue;
      EXPECT_THAT(diagnosis.remedy, Not(HasSubstr("executable"))) << step << ", " << error;
    }
  }
}

TEST(LaunchErrorOf, AStatusKeepsItsErrnoAndItsFirstStep) {
  const absl::Status full = FileError("cannot write /tmp/x", ENOSPC);
  EXPECT_EQ(full.message(), "cannot write /tmp/x: No space left on device");
  const absl::Status status = At(Step::kOwnProgram, At(Step::kWorkFile, Reworded(full, "MPI: no folder")));
  const LaunchError error = LaunchErrorOf(status);
  EXPECT_EQ(error.text, "MPI: no folder");
  EXPECT_EQ(error.reason, reason::kDiskFull);
  EXPECT_THAT(error.remedy, HasSubstr("TMPDIR"));
  EXPECT_THAT(TextWithRemedy(error),
              AllOf(HasSubstr("MPI: no folder; make room on this machine"), HasSubstr("TMPDIR")));
  EXPECT_TRUE(At(Step::kWorkFile, absl::OkStatus()).ok());
}

TEST(LaunchErrorOf, WithoutAnErrnoTheCodeDecides) {
  EXPECT_EQ(LaunchErrorOf(absl::FailedPreconditionError("x")).reason, reason::kWrongSettings);
  EXPECT_EQ(LaunchErrorOf(absl::InvalidArgumentError("x")).reason, reason::kWrongSettings);
  EXPECT_EQ(LaunchErrorOf(absl::InternalError("x")).reason, reason::kCannotStart);
  EXPECT_EQ(LaunchErrorOf(absl::ResourceExhaustedError("x")).reason, reason::kResourceLimit);
  EXPECT_EQ(LaunchErrorOf(absl::NotFoundError("x")).reason, reason::kMissingFile);
  EXPECT_EQ(LaunchErrorOf(absl::PermissionDeniedError("x")).reason, reason::kPermissionDenied);
  EXPECT_EQ(LaunchErrorOf(At(Step::kSettings, absl::NotFoundError("x"))).reason, reason::kWrongSettings);
}

TEST(Pack, ComesBackAndPlainTextStaysText) {
  const LaunchError error = MakeLaunchError(Step::kLogFile, EROFS, "no log: Read-only file system");
  const LaunchError back = Unpack(Pack(error));
  EXPECT_EQ(back.exit_code, error.exit_code);
  EXPECT_EQ(back.text, error.text);
  EXPECT_EQ(back.reason, error.reason);
  EXPECT_EQ(back.remedy, error.remedy);
  EXPECT_EQ(Unpack("just words").text, "just words");
  EXPECT_EQ(Unpack("a\x1f"
                   "b\x1f"
                   "c\x1f"
                   "d")
                .reason,
            reason::kCannotStart)
      << "no number at its beginning";
}

// In PATH, an empty name would match each folder itself.
TEST(Execute, AnEmptyNameIsNotFound) {
  const std::vector<std::string> words = {""};
  const ExecFailure failure = Execute(words);
  EXPECT_EQ(failure.error, ENOENT);
  EXPECT_THAT(Explain(failure, words, "").text, HasSubstr("not found in PATH"));
}

}  // namespace
}  // namespace muster::agent
