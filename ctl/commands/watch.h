// `ms-ctl watch`: status and events live, until the job ends.
#pragma once

#include "ctl/admin_client.h"
#include "ctl/commands/ctl_settings.h"

namespace muster::ctl {

// Asks each half second. Waits for a first job when there is none. Returns 0 or 1 as the job ends, 14 when the
// scheduler could not be reached for ten seconds before that, 15 when it is not trusted or does not take our
// certificate (2 s after it last answered) or lets it not look, and 10 when it was never reached.
int Watch(AdminClient& client, const CtlSettings& settings);

}  // namespace muster::ctl
