// What --allow_exec needs of this start.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls/tls_store.h"
#include "worker_agent/gateway/exec/gateway.h"
#include "worker_agent/node/node_description.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

inline constexpr char kExecProgram[] = "ms-exec";

// A program that is installed beside ours.
std::string ProgramBeside(const std::string& own_program, const char* name);

// Listens, and says so in `node`. `tls` null: without.
absl::StatusOr<std::unique_ptr<ExecGateway>> OpenExec(const AgentSettings& settings,
                                                      const std::map<std::string, std::string>& environment,
                                                      const std::string& work_folder,
                                                      std::shared_ptr<const TlsStore> tls, NodeDescription& node);

}  // namespace muster::agent
