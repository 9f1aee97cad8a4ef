// `ms-ctl watch` on a terminal: a full screen, which is updated every half second.
#pragma once

#include "ctl/admin_client.h"
#include "ctl/commands/ctl_settings.h"

namespace muster::ctl {

// True if standard input and output are a terminal, and the user has not asked for lines (--plain) or JSON.
bool CanWatchLive(const CtlSettings& settings);

// Shows the screen until the user quits, or until a job ends that was named on the command line. Returns the exit code:
// 0 or 1 if the named job succeeded or failed; if the user quits, 0, or 14 if the scheduler can't be reached then.
int WatchLive(AdminClient& client, const CtlSettings& settings);

}  // namespace muster::ctl
