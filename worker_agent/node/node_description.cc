#include "worker_agent/node/node_description.h"

#include <sys/random.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/base/version.h"
#include "common/net/net.h"
#include "common/sys/log.h"
#include "worker_agent/ascend/chief.h"
#include "worker_agent/ascend/device_addresses.h"
#include "worker_agent/devices/device_choice.h"
#include "worker_agent/launch/command/launchers.h"
#include "worker_agent/launch/command/script_ports.h"
#include "worker_agent/launch/rank_table.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/machine/machine.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kMaxOwnNameTime = absl::Seconds(1);
constexpr size_t kExecKeyBytes = 16;

v1::JobSettings SettingsOf(const AgentSettings& settings) {
  v1::JobSettings job;
  if (settings.worker_num) job.set_worker_num(*settings.worker_num);
  if (settings.server_num) job.set_server_num(*settings.server_num);
  if (settings.enable_recovery) job.set_enable_recovery(*settings.enable_recovery);
  if (settings.hccl_cm_init) job.set_hccl_cm_init(*settings.hccl_cm_init);
  if (settings.topo_timeout) {
    const bool is_for_ever = *settings.topo_timeout == absl::InfiniteDuration();
    job.set_topo_timeout_ms(is_for_ever ? -1 : absl::ToInt64Milliseconds(*settings.topo_timeout));
  }
  if (settings.max_restarts) job.set_max_restarts(*settings.max_restarts);
  if (settings.restart_scope) job.set_restart_scope(*settings.restart_scope);
  job.set_preflight(ChecksRing(settings) ? "ring" : "none");
  const StallSettings& stalls = settings.stalls;
  if (stalls.progress_timeout) {
    job.set_progress_timeout_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(*stalls.progress_timeout)));
  }
  if (stalls.first_progress_timeout) {
    job.set_first_progress_timeout_ms(static_cast<uint64_t>(absl::ToInt64Milliseconds(*stalls.first_progress_timeout)));
  }
  if (stalls.action) job.set_stall_action(*stalls.action);
  return job;
}

// Sets the wanted master's numeric address. MASTER_ADDR may be a name, but nodes can only compare addresses.
void SetWantedMaster(const AgentSettings& settings, const KnownNames& names, v1::NodeInfo& node) {
  uint32_t port = 0;
  if (absl::SimpleAtoi(settings.master_port, &port)) node.set_wanted_master_port(port);
  if (!names.master.empty()) node.set_wanted_master_address(names.master.front().ToString());
}

// Returns the rank table's entry for this machine.
absl::StatusOr<const TableServer*> FindOwnServer(const AgentSettings& settings, const RankTable& table) {
  std::vector<IpAddress> addresses = LocalAddresses();
  if (const auto own = IpAddress::Parse(settings.worker_ip)) addresses = {*own};
  return FindServer(table, addresses);
}

absl::Status AddRankTable(const AgentSettings& settings, NodeDescription& description) {
  if (settings.rank_table_file.empty()) return absl::OkStatus();
  const absl::StatusOr<RankTable> table = LoadRankTable(settings.rank_table_file);
  if (!table.ok()) return table.status();
  const absl::StatusOr<const TableServer*> server = FindOwnServer(settings, *table);
  if (!server.ok()) return server.status();
  for (const uint32_t rank : TableRanks(**server)) description.node.add_table_ranks(rank);
  const std::vector<v1::SlotOffer> offers = TableOffers(**server);
  if (offers.size() == static_cast<size_t>(description.node.slots_size())) {
    for (int i = 0; i < description.node.slots_size(); ++i) {
      v1::SlotOffer& slot = *description.node.mutable_slots(i);
      slot.set_device_id(offers[static_cast<size_t>(i)].device_id());
      slot.set_device_address(offers[static_cast<size_t>(i)].device_address());
    }
  }
  description.table_devices = DevicesByRank(*table);
  description.settings.set_rank_table_digest(table->digest);
  return absl::OkStatus();
}

void OfferDevices(const DeviceChoice& choice, v1::NodeInfo& node) {
  const std::vector<uint32_t> numbers = NumbersOf(choice);
  for (size_t slot = 0; slot < numbers.size() && slot < static_cast<size_t>(node.slots_size()); ++slot) {
    node.mutable_slots(static_cast<int>(slot))->set_device_id(absl::StrCat(numbers[slot]));
  }
}

// Without --devices, offers the first visible devices for the slots: in a container these may be 4 to 7. If
// --device_ips is given, does nothing, since that setting names the devices.
void OfferVisible(const AgentSettings& settings, const HostRoots& roots,
                  const std::map<std::string, std::string>& environment, v1::NodeInfo& node) {
  if (!settings.device_ips.empty()) return;
  const Devices found = FindDevices(roots.dev, environment);
  if (found.kind != "Ascend" || found.list.size() < static_cast<size_t>(node.slots_size())) return;
  for (int i = 0; i < node.slots_size(); ++i) {
    v1::SlotOffer& slot = *node.mutable_slots(i);
    if (slot.device_id().empty()) slot.set_device_id(absl::StrCat(found.list[static_cast<size_t>(i)].number));
  }
}

// Adds the facts about this node that HCCL needs, and warnings about problems that HCCL would have here.
absl::Status AddHccl(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                     NodeDescription& description) {
  const HostRoots roots = RootsFrom(environment);
  if (!ChecksHost(settings)) description.warnings = CheckHcclPorts(settings, roots, HcclPortsOf(settings, environment));
  if (settings.hccl_mode.empty() || !settings.rank_table_file.empty() || settings.role != "MS_WORKER") {
    return absl::OkStatus();
  }
  if (settings.hccl_mode == "chief") description.node.set_chief_port(settings.chief_port);
  OfferVisible(settings, roots, environment, description.node);
  DeviceSearch search;
  search.roots = roots;
  if (const auto found = environment.find("PATH"); found != environment.end()) search.search_path = found->second;
  return AddDevices(settings, search, description.node, description.warnings);
}

// Reserves ports for MindSpore's gateway. Call it after the ring's ports and the master port are reserved: they have
// precedence if --port_range is too narrow for all.
absl::Status AddGatewayPorts(const AgentSettings& settings, const PortOptions& options, uint32_t slots,
                             NodeDescription& description) {
  if (settings.mindspore_gateway == "off" || settings.command.empty()) return absl::OkStatus();
  absl::StatusOr<std::vector<ReservedPort>> ports = ReservePorts(options, slots);
  if (!ports.ok()) {
    if (settings.mindspore_gateway == "on") return ports.status();
    description.no_gateway = std::string(ports.status().message());
    return absl::OkStatus();
  }
  for (ReservedPort& port : *ports) {
    description.gateway_ports.push_back(port.port());
    description.ports.push_back(std::move(port));
  }
  return absl::OkStatus();
}

// Adds the port for remote commands, and the key that another agent must present to run a command here.
absl::Status AddExecPort(const PortOptions& options, NodeDescription& description) {
  absl::StatusOr<ReservedPort> port = ReservedPort::Reserve(options);
  if (!port.ok()) return port.status();
  std::string key(kExecKeyBytes, '\0');
  MUSTER_CHECK(getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()),
               "the kernel gives random numbers");
  description.node.set_exec_port(port->port());
  description.node.set_exec_key(key);
  description.ports.push_back(*std::move(port));
  return absl::OkStatus();
}

absl::Status AddPorts(const AgentSettings& settings, const std::map<std::string, std::string>& environment,
                      uint32_t slots, NodeDescription& description) {
  const absl::StatusOr<PortOptions> options = PortOptionsFrom(settings.port_range, environment, settings.env);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::vector<ReservedPort>> ports = ReservePorts(*options, slots + 1);
  if (!ports.ok()) return ports.status();
  for (uint32_t i = 0; i < slots; ++i) description.node.add_slots()->set_ring_port((*ports)[i].port());
  description.node.set_master_port((*ports)[slots].port());
  description.ports = *std::move(ports);
  if (absl::Status added = AddGatewayPorts(settings, *options, slots, description); !added.ok()) return added;
  return settings.allows_exec ? AddExecPort(*options, description) : absl::OkStatus();
}

// Sets whether this agent would serve PyTorch's store. Needs SetWantedMaster's result: if MASTER_ADDR is not an address
// of this machine, the user has a store elsewhere.
void AddTorchStore(const AgentSettings& settings, v1::NodeInfo& node) {
  const auto wanted = IpAddress::Parse(node.wanted_master_address());
  const bool is_here = node.wanted_master_address().empty() || (wanted && IsLocalAddress(*wanted));
  const bool starts_its_own = settings.per_node || settings.per_job;
  const bool is_wanted = settings.torch_store == "agent" || (settings.torch_store == "auto" && !starts_its_own);
  // A launcher such as torchrun serves the store itself.
  const bool may_be_here = is_wanted && !settings.command.empty() && !LauncherIn(settings.command);
  const bool is_port_computed =
      may_be_here && settings.torch_store == "auto" && PortsOfScript(settings.command).are_computed;
  const bool is_asked = may_be_here && is_here && node.role() == v1::ROLE_WORKER;
  if (is_asked && is_port_computed) {
    Log(Severity::kInfo,
        "the script computes the port of PyTorch's store, so rank 0's process hosts it; give --torch_store=agent if "
        "the script uses MASTER_PORT unchanged");
  }
  if (settings.torch_store_relay.value_or(false) && (!may_be_here || is_port_computed)) {
    Log(Severity::kWarning,
        "--torch_store_relay has no effect: the job's processes serve PyTorch's store, not an agent (--torch_store)");
  }
  node.set_has_torch_store(is_asked && !is_port_computed);
  node.set_torch_store_relay(settings.torch_store_relay.value_or(settings.tls.require_tls) ? v1::TORCH_STORE_RELAY_ON
                                                                                           : v1::TORCH_STORE_RELAY_OFF);
  for (const IpAddress& address : LocalAddresses()) {
    if (node.addresses_size() < kMaxAddressesOfNode && !address.is_loopback()) node.add_addresses(address.ToString());
  }
}

std::string OwnAddress(const AgentSettings& settings, const KnownNames& names) {
  if (!settings.worker_ip.empty()) return settings.worker_ip;
  if (names.scheduler.empty()) return "";
  const auto own = LocalAddressTowards(names.scheduler.front());
  return own.ok() ? own->ToString() : "";
}

}  // namespace

absl::StatusOr<NodeDescription> DescribeNode(const AgentSettings& settings,
                                             const std::map<std::string, std::string>& environment,
                                             const DeviceChoice& devices, const KnownNames& names) {
  NodeDescription description;
  description.settings = SettingsOf(settings);
  v1::NodeInfo& node = description.node;
  node.set_role(settings.role == "MS_PSERVER" ? v1::ROLE_SERVER : v1::ROLE_WORKER);
  node.set_host_name(LocalHostName());
  const absl::StatusOr<std::string> machine = MachineId(settings.machine);
  if (!machine.ok()) return machine.status();
  node.set_machine_id(*machine);
  node.set_address(settings.worker_ip);
  if (const auto other = DefaultRouteAddress()) node.set_other_address(other->ToString());
  node.set_spare(settings.spare);
  node.set_shares_job(settings.shared_job);
  if (settings.node_rank) node.set_node_rank(static_cast<uint32_t>(*settings.node_rank));
  node.set_label_path(absl::StrJoin(settings.labels, "/"));
  node.set_pid(static_cast<uint64_t>(getpid()));
  node.set_user(LocalUserName());
  node.set_version(kVersion);
  node.set_is_processless(settings.command.empty());
  const uint32_t slots = SlotCount(settings, environment);
  if (absl::Status status = AddPorts(settings, environment, slots, description); !status.ok()) return status;
  SetWantedMaster(settings, names, node);
  AddTorchStore(settings, node);
  if (absl::Status status = AddRankTable(settings, description); !status.ok()) return status;
  OfferDevices(devices, node);
  if (absl::Status status = AddHccl(settings, environment, description); !status.ok()) return status;
  description.own_address = OwnAddress(settings, names);
  if (!settings.standalone && !settings.command.empty()) description.own_name = ResolveOwnName(kMaxOwnNameTime);
  return description;
}

absl::Status TakeSizeOfRankTable(AgentSettings& settings, bool has_slots) {
  if (settings.rank_table_file.empty() || settings.role != "MS_WORKER") return absl::OkStatus();
  // A command line with --worker_num but without --local_worker_num means an agent with one process, as without a
  // table.
  if (settings.worker_num && (has_slots || !settings.standalone)) return absl::OkStatus();
  const absl::StatusOr<RankTable> table = LoadRankTable(settings.rank_table_file);
  if (!table.ok()) return table.status();
  const absl::StatusOr<const TableServer*> server = FindOwnServer(settings, *table);
  if (!server.ok()) return server.status();
  if (!settings.worker_num) settings.worker_num = table->rank_count;
  if (!has_slots) settings.local_worker_num = absl::StrCat((*server)->devices.size());
  return absl::OkStatus();
}

uint32_t SlotCount(const AgentSettings& settings, const std::map<std::string, std::string>& environment) {
  uint32_t count = 0;
  if (absl::SimpleAtoi(settings.local_worker_num, &count)) return count;
  const std::vector<uint32_t> named = NamedDevices(settings.devices);
  if (!named.empty()) return static_cast<uint32_t>(named.size());
  return FindDevices(RootsFrom(environment).dev, environment).count;
}

uint64_t NewIncarnation() {
  uint64_t incarnation = 0;
  while (incarnation == 0) {
    MUSTER_CHECK(getrandom(&incarnation, sizeof(incarnation), 0) == sizeof(incarnation),
                 "the kernel gives random numbers");
  }
  return incarnation;
}

}  // namespace muster::agent
