// The reason why a process could not be started: what happened, the word for programs, and what to do. The one place
// that decides by the step that failed and its errno.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

enum class LaunchStep : int {
  kOther,        // decided by the errno alone
  kProgram,      // exec
  kInterpreter,  // of a script (its first line) or of a program (its loader)
  kProcess,      // fork
  kFolder,       // the working folder
  kCpus,         // --bind_core
  kStreams,      // standard input and output
  kWorkFile,     // in TMPDIR
  kLogFile,      // in --log_dir
  kOwnProgram,   // one that belongs to Muster
  kSettings,     // they contradict each other or the machine
  kInternal,     // a fault of Muster's
};

struct LaunchDiagnosis {
  int exit_code = 0;         // as a shell's: 127 not found, 126 anything else
  absl::string_view reason;  // one of common/base/reason.h's
  std::string remedy;        // "{host}" stands for the machine where it failed; may be empty: the reason says it
};

// Pure. `error`: an errno, 0 if there is none.
LaunchDiagnosis DiagnoseLaunch(LaunchStep step, int error);

struct LaunchError {
  int exit_code = 126;
  std::string text;  // what happened
  std::string reason;
  std::string remedy;
};

LaunchError MakeLaunchError(LaunchStep step, int error, std::string text);

// A status on its way to a LaunchError: `At` says which step failed, unless that is known already. The errno is the
// status's own (OsError), or `error`.
absl::Status At(LaunchStep step, absl::Status status, int error = 0);

// The status's code decides if it has no step.
LaunchError LaunchErrorOf(const absl::Status& status);

// For a person at this machine: the text, and what to do.
std::string TextWithRemedy(const LaunchError& error);
absl::Status Advised(LaunchStep step, const absl::Status& status);

// Packs an error in one string, where only a text can be passed on. Unpack takes any other string for an error text.
std::string Pack(const LaunchError& error);
LaunchError Unpack(const std::string& packed);

}  // namespace muster::agent
