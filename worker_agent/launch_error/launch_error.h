// Explains why a process could not be started: a text of what happened, a reason for programs, and a remedy. All such
// explanations are decided here, by the step that failed and its errno.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

enum class LaunchStep : int {
  kOther,        // any other step: the errno alone decides
  kProgram,      // exec
  kInterpreter,  // exec of a script's interpreter (its first line) or of a program's loader
  kProcess,      // fork
  kFolder,       // entering the working folder
  kCpus,         // --bind_core
  kStreams,      // opening standard input and output
  kWorkFile,     // a file in TMPDIR
  kLogFile,      // a file in --log_dir
  kOwnProgram,   // exec of a program that belongs to Muster
  kSettings,     // settings that contradict each other or the machine
  kInternal,     // a bug in Muster
};

struct LaunchDiagnosis {
  int exit_code = 0;         // as a shell has it: 127 not found, 126 any other failure
  absl::string_view reason;  // a constant of common/base/reason.h
  std::string remedy;        // "{host}" stands for the machine where it failed; empty: the text says enough
};

// Returns the diagnosis for a step and an errno; 0: there is none. Pure.
LaunchDiagnosis DiagnoseLaunch(LaunchStep step, int error);

struct LaunchError {
  int exit_code = 126;
  std::string text;  // what happened
  std::string reason;
  std::string remedy;
};

LaunchError MakeLaunchError(LaunchStep step, int error, std::string text);

// Adds the failed step to an error status, for a later LaunchErrorOf. Keeps a step that was added before. The
// errno is `error`, or, if that is 0, the status's own (OsError).
absl::Status At(LaunchStep step, absl::Status status, int error = 0);

// Returns the LaunchError for a status. If it has neither a step nor an errno, its code decides.
LaunchError LaunchErrorOf(const absl::Status& status);

// Returns text and remedy for a person at this machine.
std::string TextWithRemedy(const LaunchError& error);
// Adds the remedy to a status's message.
absl::Status Advised(LaunchStep step, const absl::Status& status);

// Packs an error into one string, for channels that carry only a text. Unpack treats any string that Pack has not made
// as the text of an error.
std::string Pack(const LaunchError& error);
LaunchError Unpack(const std::string& packed);

}  // namespace muster::agent
