// kRows gives exit code, reason and remedy for a step and an errno; the first row that fits applies. In a row, kOther
// fits every step, and 0 every errno. "{or}" in a remedy becomes the alternative that the step has (Elsewhere).
#include "worker_agent/launch_error/launch_error.h"

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/exit_codes.h"
#include "common/base/os_error.h"
#include "common/base/reason.h"

namespace muster::agent {
namespace {

constexpr int kNotFound = kExitNotFound;
constexpr int kFailed = kExitCannotStart;
constexpr absl::string_view kStepPayload = "muster/launch-step";
constexpr char kSeparator[] = "\x1f";

using Step = LaunchStep;

struct Row {
  Step step;
  int error;
  int exit_code;
  absl::string_view reason;
  absl::string_view remedy;
};

constexpr std::array kRows = std::to_array<Row>({
    {Step::kProgram, ENOENT, kNotFound, reason::kCommandNotFound,
     "check how it is spelt, and that it is installed and in PATH on {host}"},
    {Step::kProgram, ENOTDIR, kNotFound, reason::kCommandNotFound,
     "a part of its path is no folder on {host}: check how it is spelt"},
    {Step::kProgram, EACCES, kFailed, reason::kCannotStart,
     "make the program executable for the job's user on {host} (chmod +x), in folders that this user may enter and on "
     "a file system that is not mounted noexec"},
    {Step::kProgram, EISDIR, kFailed, reason::kCannotStart, "name the program that is to run, not a folder"},
    {Step::kProgram, EPERM, kFailed, reason::kPermissionDenied,
     "ask the administrator of {host} what forbids to run it: a security module (AppArmor, SELinux), seccomp or a "
     "mount option"},
    {Step::kProgram, ENOEXEC, kFailed, reason::kExecFormatError,
     "install a build of the program that is made for {host}"},
    {Step::kProgram, EINVAL, kFailed, reason::kExecFormatError,
     "the program's file is damaged: copy it to {host} again"},
    {Step::kProgram, ELIBBAD, kFailed, reason::kExecFormatError,
     "the program's loader is damaged or made for another system: install the program again on {host}"},
    {Step::kProgram, ETXTBSY, kFailed, reason::kProgramBusy,
     "a process on {host} still writes to the program (`fuser -v FILE` names it): start again once that process has "
     "closed the file"},
    {Step::kProgram, E2BIG, kFailed, reason::kCommandTooLong,
     "shorten the arguments or the environment: together they may take a quarter of the stack (`ulimit -s`), and a "
     "single one 128 KiB; a long list belongs in a file"},
    {Step::kInterpreter, ENOENT, kNotFound, reason::kCommandNotFound,
     "install that interpreter on {host}, or name one that is there"},
    {Step::kInterpreter, ENOTDIR, kNotFound, reason::kCommandNotFound,
     "install that interpreter on {host}, or name one that is there"},
    {Step::kInterpreter, EACCES, kFailed, reason::kCannotStart,
     "make that interpreter executable for the job's user on {host}, or name another one"},
    {Step::kInterpreter, ENOEXEC, kFailed, reason::kExecFormatError,
     "install a build of that interpreter that is made for {host}"},
    {Step::kProcess, EAGAIN, kFailed, reason::kResourceLimit,
     "raise the limit on {host}, or start fewer processes there"},
    {Step::kProcess, EPERM, kFailed, reason::kPermissionDenied,
     "ask the administrator of {host} what forbids new processes: seccomp or a security module"},
    {Step::kFolder, ENOENT, kFailed, reason::kMissingFile,
     "make the working folder on {host}, or start in another one"},
    {Step::kCpus, EINVAL, kFailed, reason::kWrongSettings,
     "correct --bind_core: it names CPUs that {host}, its container or its batch job does not offer (`taskset -cp $$` "
     "shows which CPUs may be used)"},
    {Step::kCpus, EPERM, kFailed, reason::kPermissionDenied,
     "leave --bind_core out: something on {host} forbids to bind processes (seccomp, a security module)"},
    {Step::kStreams, ENOENT, kFailed, reason::kMissingFile, "mount /dev on {host}: /dev/null is missing there"},
    {Step::kStreams, EACCES, kFailed, reason::kPermissionDenied,
     "open /dev/null to all users of {host} (chmod 666 /dev/null)"},
    {Step::kOwnProgram, ENOENT, kFailed, reason::kMissingFile,
     "install all programs of Muster on {host}, in one folder"},
    {Step::kOwnProgram, ELIBACC, kFailed, reason::kMissingLibrary,
     "install the library that it needs on {host} (`ldd` names it)"},
    {Step::kOwnProgram, ENOEXEC, kFailed, reason::kExecFormatError,
     "install the build of Muster that is made for {host}"},
    {Step::kSettings, 0, kFailed, reason::kWrongSettings, ""},
    {Step::kInternal, 0, kFailed, reason::kCannotStart,
     "this is a fault of Muster's own: report it with what `ms-ctl report` writes"},

    {Step::kOther, ENOSPC, kFailed, reason::kDiskFull,
     "make room on {host} where it writes (`df -h` and `df -i` show what is full){or}"},
    {Step::kOther, EDQUOT, kFailed, reason::kDiskFull,
     "the quota of the job's user is used up on {host} (`quota -s`): remove files there{or}"},
    {Step::kOther, EROFS, kFailed, reason::kReadOnlyFileSystem,
     "mount the file system on {host} so that it can be written (`dmesg` says whether an error made it read-only){or}"},
    {Step::kOther, EMFILE, kFailed, reason::kTooManyOpenFiles, "raise the limit of open files on {host} (`ulimit -n`)"},
    {Step::kOther, ENFILE, kFailed, reason::kTooManyOpenFiles,
     "raise the limit of open files of the whole machine {host} (sysctl fs.file-max)"},
    {Step::kOther, EAGAIN, kFailed, reason::kResourceLimit, "raise the limit on {host} (`ulimit -a` shows the limits)"},
    {Step::kOther, ENOMEM, kFailed, reason::kOutOfMemory,
     "give the job more memory on {host} (the limit of the batch system or of the container, `ulimit -v`)"},
    {Step::kOther, ENOBUFS, kFailed, reason::kOutOfMemory,
     "give the job more memory on {host} (the limit of the batch system or of the container)"},
    {Step::kOther, EACCES, kFailed, reason::kPermissionDenied, "give the job's user access to it on {host}{or}"},
    {Step::kOther, EPERM, kFailed, reason::kPermissionDenied,
     "ask the administrator of {host} what forbids it (a security module, an immutable file){or}"},
    {Step::kOther, ENOENT, kFailed, reason::kMissingFile,
     "check that the path exists on {host} (spelt right, mounted, not removed as an old file){or}"},
    {Step::kOther, ENOTDIR, kFailed, reason::kBadPath, "a part of the path is no folder on {host}: correct it{or}"},
    {Step::kOther, EISDIR, kFailed, reason::kBadPath, "a folder has that name on {host}: remove it{or}"},
    {Step::kOther, EEXIST, kFailed, reason::kBadPath, "something else has that name on {host}: remove it{or}"},
    {Step::kOther, ELOOP, kFailed, reason::kBadPath,
     "its symbolic links form a loop on {host}, or one is not trusted: correct them{or}"},
    {Step::kOther, ENAMETOOLONG, kFailed, reason::kBadPath,
     "shorten the path: a name has at most 255 bytes, a path 4,095{or}"},
    {Step::kOther, EFBIG, kFailed, reason::kResourceLimit, "raise the limit of a file's size on {host} (`ulimit -f`)"},
    {Step::kOther, ETXTBSY, kFailed, reason::kProgramBusy, "start again when the program is no longer written to"},
    {Step::kOther, EIO, kFailed, reason::kIoError,
     "look in the kernel's log on {host} (`dmesg`) for errors of the disk or the file server{or}"},
    {Step::kOther, ESTALE, kFailed, reason::kIoError, "mount the file server's folder again on {host}{or}"},
    {Step::kOther, ENXIO, kFailed, reason::kIoError,
     "the device behind the path is gone on {host}: mount it again{or}"},
    {Step::kOther, ENODEV, kFailed, reason::kIoError,
     "the device behind the path is gone on {host}: mount it again{or}"},
    {Step::kOther, ETIMEDOUT, kFailed, reason::kIoError,
     "the file server does not answer {host}: check that it is up{or}"},
    {Step::kOther, EHOSTDOWN, kFailed, reason::kIoError,
     "the file server does not answer {host}: check that it is up{or}"},
    {Step::kOther, EADDRINUSE, kFailed, reason::kPortInUse,
     "end what has the port on {host} (`ss -ltnp` names it), or give other ports with --port_range"},
    {Step::kOther, EADDRNOTAVAIL, kFailed, reason::kWrongSettings,
     "{host} does not have that address: correct --worker_ip"},
    {Step::kOther, 0, kFailed, reason::kCannotStart, "look on {host} at what the message names{or}"},
});

absl::string_view Elsewhere(Step step) {
  switch (step) {
    case Step::kWorkFile:
      return ", or set TMPDIR to another folder";
    case Step::kLogFile:
      return ", or name another folder with --log_dir";
    case Step::kProgram:
    case Step::kInterpreter:
    case Step::kOwnProgram:
      return ", or install it elsewhere";
    case Step::kFolder:
      return ", or start in another folder";
    default:
      return "";
  }
}

// Returns the step for an error that has no errno.
Step StepOf(absl::StatusCode code) { return code == absl::StatusCode::kInternal ? Step::kInternal : Step::kSettings; }

int ErrorOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kResourceExhausted:
      return EAGAIN;
    case absl::StatusCode::kNotFound:
      return ENOENT;
    case absl::StatusCode::kPermissionDenied:
      return EACCES;
    default:
      return 0;
  }
}

}  // namespace

LaunchDiagnosis DiagnoseLaunch(LaunchStep step, int error) {
  for (const Row& row : kRows) {
    const bool fits = (row.step == step || row.step == Step::kOther) && (row.error == error || row.error == 0);
    if (fits) return {row.exit_code, row.reason, absl::StrReplaceAll(row.remedy, {{"{or}", Elsewhere(step)}})};
  }
  return {kFailed, reason::kCannotStart, ""};
}

LaunchError MakeLaunchError(LaunchStep step, int error, std::string text) {
  LaunchDiagnosis diagnosis = DiagnoseLaunch(step, error);
  return {diagnosis.exit_code, std::move(text), std::string(diagnosis.reason), std::move(diagnosis.remedy)};
}

absl::Status At(LaunchStep step, absl::Status status, int error) {
  if (status.ok()) return status;
  if (error != 0) status.SetPayload(kErrnoPayload, absl::Cord(absl::StrCat(error)));
  if (!status.GetPayload(kStepPayload)) {
    status.SetPayload(kStepPayload, absl::Cord(absl::StrCat(static_cast<int>(step))));
  }
  return status;
}

LaunchError LaunchErrorOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kStepPayload);
  int error = ErrnoOf(status);
  int number = 0;
  Step step = Step::kOther;
  if (payload && absl::SimpleAtoi(std::string(*payload), &number)) step = static_cast<Step>(number);
  if (error == 0) error = ErrorOf(status.code());
  if (error == 0 && step == Step::kOther) step = StepOf(status.code());
  return MakeLaunchError(step, error, std::string(status.message()));
}

std::string TextWithRemedy(const LaunchError& error) {
  const std::string remedy = absl::StrReplaceAll(error.remedy, {{"{host}", "this machine"}});
  return absl::StrCat(error.text, remedy.empty() ? "" : "; ", remedy);
}

absl::Status Advised(LaunchStep step, const absl::Status& status) {
  return status.ok() ? status : Reworded(status, TextWithRemedy(LaunchErrorOf(At(step, status))));
}

std::string Pack(const LaunchError& error) {
  return absl::StrCat(error.exit_code, kSeparator, error.reason, kSeparator, error.remedy, kSeparator, error.text);
}

LaunchError Unpack(const std::string& packed) {
  const std::vector<std::string> parts = absl::StrSplit(packed, absl::MaxSplits(kSeparator, 3));
  LaunchError error;
  if (parts.size() == 4 && absl::SimpleAtoi(parts[0], &error.exit_code)) {
    return {error.exit_code, parts[3], parts[1], parts[2]};
  }
  return MakeLaunchError(Step::kOther, 0, packed);
}

}  // namespace muster::agent
