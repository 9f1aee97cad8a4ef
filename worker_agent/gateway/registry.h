// The gateways that this agent serves, as its settings and its command require, and the inputs from which they are
// made. registry.cc has the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/clock.h"
#include "common/tls/tls_store.h"
#include "muster/v1/types.pb.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/settings/agent_settings.h"
#include "worker_agent/store/agent_store.h"

namespace muster::agent {

// The inputs from which gateways are made. All that they refer to must outlive the gateways.
struct GatewayInputs {
  const AgentSettings& settings;
  const std::map<std::string, std::string>& environment;
  AgentStore& store;
  const Clock& clock;
  std::shared_ptr<const TlsStore> tls;  // null: no TLS
  std::string work_folder;
  std::string programs;                   // the folder of Muster's own programs
  std::vector<uint16_t> mindspore_ports;  // reserved, one for each slot; empty: see no_mindspore_ports
  std::string no_mindspore_ports;         // why there are no ports for MindSpore
  uint16_t exec_port = 0;                 // reserved, and announced by the node
  std::function<void(v1::RemoteCommands)> report_commands;  // takes the remote commands that were run or refused
};

struct Serving {
  enum class How { kNot, kIfItBegins, kAlways };  // kAlways: no process starts if Begin fails
  How how = How::kNot;
  std::string remark = {};  // a line for the log; empty: none
};

struct GatewayRow {
  const char* name;
  const char* flag;       // of ms-worker
  const char* values;     // its values, as --help shows them
  const char* variables;  // the variables that the gateway's processes get, separated by blanks
  const char* without;    // what the processes lack if the gateway can't begin, for people
  size_t threads = 0;
  size_t slot_descriptors = 0;   // file descriptors, for each slot
  bool needs_all_peers = false;  // true if the gateway, when always served, needs the round's whole peer list
  // Decides whether and how the gateway is served. It may read the files that the command names, but no other files.
  Serving (*serve)(const AgentSettings& settings, const std::map<std::string, std::string>& environment);
  // Returns null if the gateway is not served after all.
  absl::StatusOr<std::unique_ptr<Gateway>> (*make)(const GatewayInputs& inputs);
};

// The rows, in the order in which the gateways begin a round.
absl::Span<const GatewayRow> GatewayRows();

struct MadeGateway {
  std::unique_ptr<Gateway> gateway;
  bool is_required = false;
  const char* without = "";
};

class ServedGateways {
 public:
  ServedGateways(const AgentSettings& settings, const std::map<std::string, std::string>& environment);

  bool Has(std::string_view name) const;
  bool need_all_peers() const;
  size_t threads() const;
  size_t slot_descriptors() const;
  // Logs the remarks and makes the gateways. Call it once.
  absl::StatusOr<std::vector<MadeGateway>> Make(const GatewayInputs& inputs) const;

 private:
  std::vector<std::pair<const GatewayRow*, Serving>> rows_;  // rows that are served or have a remark
};

}  // namespace muster::agent
