#include "worker_agent/open_exec.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "worker_agent/launch/port_reservation.h"
#include "worker_agent/node/own_scheduler.h"

namespace muster::agent {

std::string ProgramBeside(const std::string& own_program, const char* name) {
  return (std::filesystem::path(own_program).parent_path() / name).string();
}

absl::StatusOr<std::unique_ptr<ExecGateway>> OpenExec(const AgentSettings& settings,
                                                      const std::map<std::string, std::string>& environment,
                                                      const std::string& work_folder,
                                                      std::shared_ptr<const TlsStore> tls, NodeDescription& node) {
  const absl::StatusOr<PortOptions> options = PortOptionsFrom(settings.port_range, environment);
  if (!options.ok()) return options.status();
  absl::StatusOr<ReservedPort> port = ReservedPort::Reserve(*options);
  if (!port.ok()) return port.status();
  ExecOptions exec{ProgramBeside(OwnProgram(), kExecProgram), work_folder, std::move(tls)};
  absl::StatusOr<std::unique_ptr<ExecGateway>> gateway =
      ExecGateway::Open(std::move(exec), port->port(), Clock::System());
  if (!gateway.ok()) return gateway.status();
  node.ports.push_back(*std::move(port));
  node.node.set_exec_port((*gateway)->port());
  node.node.set_exec_key((*gateway)->key());
  return gateway;
}

}  // namespace muster::agent
