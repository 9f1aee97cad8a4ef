// `ms-ctl watch` on a terminal: a screen that is up to date within half a second.
#pragma once

#include "ctl/admin_client.h"
#include "ctl/commands/ctl_settings.h"

namespace muster::ctl {

// True if there is a terminal, and the user did not ask for lines.
bool CanWatchLive(const CtlSettings& settings);

// Returns 0 if the user quits (14 while the scheduler can't be reached); 0 or 1 by the end of a job that was named.
int WatchLive(AdminClient& client, const CtlSettings& settings);

}  // namespace muster::ctl
