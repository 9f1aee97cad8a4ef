// What a launcher says to ssh: where, and what. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::exec {

struct SshWords {
  std::string host;           // without user and port
  std::string command;        // the words joined by blanks, for a shell
  bool takes_stdin = true;    // false: -n, -f
  bool asks_version = false;  // -V
  std::string cannot;         // what is asked for and not served, for people; empty: nothing
};

// `words` without the program's name. Options may stand before and behind the host, as with ssh; all are skipped that
// say how ssh connects. The error says what is not understood.
absl::StatusOr<SshWords> ParseSshWords(const std::vector<std::string>& words);

}  // namespace muster::exec
