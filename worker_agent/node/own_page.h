// The page of a scheduler that this agent starts: a port on loopback, and a token that only this user has, because
// other users of the machine can reach the port, too.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/unique_fd.h"
#include "worker_agent/launch/port_reservation.h"

namespace muster::agent {

class OwnPage {
 public:
  // Reserves a port and makes a token. `lock_base`: see WorkFolder::DefaultBase.
  static absl::StatusOr<OwnPage> Make(const std::string& lock_base);

  // Returns the flags for ms-scheduler, which must inherit `token_fd`.
  std::vector<std::string> Flags() const;
  int token_fd() const { return token_file_.get(); }
  // Returns the address for a browser, for a message. On a terminal the token is in its fragment, which a browser sends
  // to no server. Others may read a log, so there the message has a command that prints the token, for this user only.
  std::string InWords(bool has_tls, bool is_terminal) const;

 private:
  OwnPage(ReservedPort port, std::string token, UniqueFd token_file)
      : number_(port.port()), port_(std::move(port)), token_(std::move(token)), token_file_(std::move(token_file)) {}

  uint16_t number_;
  // Kept, so that a scheduler that starts again gets it; the listener may bind it, too (SO_REUSEADDR).
  ReservedPort port_;
  std::string token_;
  UniqueFd token_file_;  // in memory; /proc/self/fd is its path
};

// True if `flags` of ms-scheduler, or its variables in this process's environment, say where its page is, or which
// token it takes. Then the user decides about the page.
bool NamesPage(const std::vector<std::string>& flags);

}  // namespace muster::agent
