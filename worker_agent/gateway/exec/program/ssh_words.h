// Parses the words with which a launcher calls ssh: a host and a command. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::exec {

struct SshWords {
  std::string host;           // without user and port
  std::string command;        // the command's words joined by blanks, for a shell
  bool takes_stdin = true;    // false: -n, -f
  bool asks_version = false;  // -V
  std::string cannot;         // why the request can't be served, for people; empty: it can
};

// `words` excludes the program's name. Options may stand before and after the host, as with ssh. Options about how ssh
// connects are skipped. The error says which word is not understood.
absl::StatusOr<SshWords> ParseSshWords(const std::vector<std::string>& words);

}  // namespace muster::exec
