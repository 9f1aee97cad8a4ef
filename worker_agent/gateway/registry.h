// Which frameworks' gateways this agent has, by its settings and its command, and what they take. registry.cc is the
// table.
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

// What gateways are made of. What it refers to outlives them.
struct GatewayInputs {
  const AgentSettings& settings;
  const std::map<std::string, std::string>& environment;
  AgentStore& store;
  const Clock& clock;
  std::shared_ptr<const TlsStore> tls;  // null: none
  std::string work_folder;
  std::string programs;                          // the folder of those that belong to Muster
  std::vector<uint16_t> mindspore_ports;         // reserved, one for each slot; empty: …
  std::string no_mindspore_ports;                // … there are none to be had, and why
  uint16_t exec_port = 0;                        // reserved, as the node has told it
  std::function<void(v1::RemoteCommands)> tell;  // what remote commands were run or refused
};

struct Serving {
  enum class How { kNot, kIfItBegins, kAlways };  // kAlways: no process starts where it can't begin
  How how = How::kNot;
  std::string remark = {};  // for the log, once; empty: none
};

struct GatewayRow {
  const char* name;
  const char* flag;       // of ms-worker …
  const char* values;     // … and what may be said, as --help shows it
  const char* variables;  // that its processes find, with blanks between them
  const char* without;    // what these do where it can't begin, for people
  size_t threads = 0;
  size_t slot_descriptors = 0;   // for each slot
  bool needs_all_peers = false;  // where it is served always: the round's peer list, however long it is
  // Reads the files that the command names, and nothing else.
  Serving (*serve)(const AgentSettings& settings, const std::map<std::string, std::string>& environment);
  // Null: it is not served after all.
  absl::StatusOr<std::unique_ptr<Gateway>> (*make)(const GatewayInputs& inputs);
};

// In the order in which they begin a round.
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
  // Once. Logs the remarks.
  absl::StatusOr<std::vector<MadeGateway>> Make(const GatewayInputs& inputs) const;

 private:
  std::vector<std::pair<const GatewayRow*, Serving>> rows_;  // those that are served, or have a remark
};

}  // namespace muster::agent
