// The agent's side of TLS: what it shows and whom it trusts.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/log.h"
#include "common/tls/tls_store.h"
#include "worker_agent/agent_settings.h"

namespace muster::agent {

// Null without TLS. What the peers would refuse is found here, before anything is dialed: the error names the setting.
// Fills in the node id that the certificate names. See OpenClientTls for when to call it.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenAgentTls(AgentSettings& settings, const PasswordSource& password,
                                                       CountedLog& counted);

}  // namespace muster::agent
