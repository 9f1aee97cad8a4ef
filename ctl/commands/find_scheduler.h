// Finds the scheduler to ask if the user has not named one. The schedulers of --standalone have ports that the kernel
// chose, but their admin sockets are in a folder of this user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ctl/commands/ctl_settings.h"
#include "muster/v1/admin.pb.h"

namespace muster::ctl {

struct FoundScheduler {
  uint16_t port = 0;
  std::string socket;
  v1::StatusReply status;
};

// Returns the schedulers of this user that answer on this machine.
std::vector<FoundScheduler> FindSchedulers();

// Returns the index of the only scheduler that fits: the only one that knows `job_id`, or the only one if no job is
// named. nullopt: none fits. FAILED_PRECONDITION: several fit; the message lists them. Pure.
absl::StatusOr<std::optional<size_t>> ChooseScheduler(const std::vector<FoundScheduler>& found,
                                                      const std::string& job_id);

// Sets settings.admin_socket to the socket of the scheduler to ask. Does nothing if the user has named a scheduler, if
// one listens at the default port, or if this user has none on this machine. If there are several, asks on the
// terminal; without a terminal, returns the error of ChooseScheduler.
absl::Status FindScheduler(CtlSettings& settings);

}  // namespace muster::ctl
