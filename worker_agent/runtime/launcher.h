// Turns a Launch of the core into orders for the keeper: environments, the cluster file, logs, live output, CPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/number_list.h"
#include "worker_agent/ascend/table_files.h"
#include "worker_agent/core/events.h"
#include "worker_agent/devices/device_choice.h"
#include "worker_agent/gateway/chassis/gateway.h"
#include "worker_agent/keeper/processes.h"
#include "worker_agent/launch/cluster_file.h"
#include "worker_agent/launch/cpu_binding.h"
#include "worker_agent/launch/environment/environment.h"
#include "worker_agent/launch/table_devices.h"
#include "worker_agent/machine/host_roots.h"
#include "worker_agent/machine/machine.h"
#include "worker_agent/settings/agent_settings.h"

namespace muster::agent {

struct LauncherOptions {
  AgentSettings settings;                          // checked
  v1::NodeInfo node;                               // this node, as it was described at the join
  TableDevices table_devices;                      // empty: there is no rank table
  std::map<std::string, std::string> environment;  // this process's own
  std::string work_folder;
  std::string own_address;    // numeric; used if the assignment has no address; may be empty
  std::string python_folder;  // contains muster_training.py; empty: there is none
  std::string ring_program;   // ms-ring, for --preflight ring
  // Makes the TLS hand-over for ms-ring, with the certificate that has this fingerprint: the round's peers expect it.
  std::function<HandOver(const std::string& fingerprint)> hand_over;
  std::string start_secret;                             // of the node's lock; empty: there is none
  std::optional<std::vector<IpAddress>> own_name = {};  // see ChooseCollectiveInterface
  std::function<std::vector<InterfaceAddress>()> interfaces = InterfaceAddresses;
  DeviceChoice devices = {};  // one for each slot; none: the processes' devices are not set
  HostRoots roots = {};
  bool has_ascend = false;        // the node has Ascend devices, whose software writes logs
  std::string exec_program = {};  // ms-exec, for --allow_exec
};

struct LaunchPlan {
  bool is_waiting = false;  // for a gateway; Continue returns the rest of the plan
  std::vector<ProcessSpec> specs;
  // Slots that have no process of their own, by the process that they share: they begin, make progress and end with it
  // (--per_node).
  std::map<ProcessKey, std::vector<ProcessKey>> followers;
  // Slots that are done at once, because the job's one process is on another node (--per_job) and this one runs
  // nothing.
  std::vector<ProcessKey> done_at_once;
  std::vector<std::string> notices;   // for people
  std::vector<std::string> warnings;  // for people, to act on
};

// Returns the event for a launch that Prepare or Continue refused.
LaunchFailed FailedLaunch(const Launch& launch, const absl::Status& why);

// Returns true if the node runs one process, and its output goes unchanged to the agent's own output.
bool PassesOutput(const AgentSettings& settings, int slots);

// Returns the ranks that the user sees live. With --log_dir rank 0 alone, unless --tail names others.
std::vector<NumberRange> ShownLive(const AgentSettings& settings, int slots);

class Launcher {
 public:
  explicit Launcher(LauncherOptions options);
  ~Launcher();

  // Adds a gateway, which is not owned. Must be called before the first Prepare. If a required gateway can't begin,
  // nothing is started. If another one can't, the user gets `without`, which says what this means for processes:
  // "MindSpore processes …".
  void AddGateway(Gateway& gateway, bool is_required, std::string without) {
    gateways_.push_back({&gateway, is_required, std::move(without)});
  }

  // Prepares a round. No process of another round may run. Writes the cluster file, removes that of the previous round,
  // and makes and clears the files that the processes need. The error says what could not be done.
  absl::StatusOr<LaunchPlan> Prepare(const Launch& launch, const std::string& node_id);

  // Returns the plan of the last Prepare, if that had to wait. Must be called after the gateways have called `wake`,
  // which they may do on any thread.
  absl::StatusOr<LaunchPlan> Continue();
  void SetWake(std::function<void()> wake) { wake_ = std::move(wake); }

  // These inform the gateways. NotifyStopping: the processes of the round that was prepared last are being stopped as
  // planned. NotifyOver: why the round is over; comes before EndRound. EndRound: the round is over.
  void NotifyStopping(const std::string& why, absl::Duration limit);
  void NotifyOver(const std::string& why);
  void EndRound(uint64_t run, uint32_t round);

  // These inform the gateways that a process of that round runs, or has ended: see Gateway.
  void Started(const ProcessKey& key, int64_t pid);
  void Judge(const ProcessKey& key, ProcessEnd& end);

  // Sets the folder for the logs of processes that are prepared from now on. If there is a log_dir, must be called
  // before the first Prepare.
  void SetLogFolder(std::string folder) { log_folder_ = std::move(folder); }

  // Returns the text that an agent without a command prints.
  absl::StatusOr<std::string> AssignmentText(const PrintAssignment& print, const std::string& node_id) const;

 private:
  struct Round;
  struct Waiting;
  struct Opening {
    Gateway* gateway = nullptr;
    bool is_required = false;
    std::string without;
    bool is_begun = false;  // Begin was called in this round
    bool is_ready = false;
  };

  absl::StatusOr<Round> OpenRound(const v1::DesiredState& desired, const std::shared_ptr<const std::string>& peer_list,
                                  const std::string& node_id) const;
  ClusterFileInput FileInput(const Round& round) const;
  // --hccl_mode: makes the round's rank table, or finds HCCL's chief.
  absl::Status PrepareHccl(Round& round);
  absl::Status BeginGateways(const Round& round, LaunchPlan& plan);
  absl::Status CheckNodeRank(const Round& round) const;
  void WarnOfRankFormula(const Round& round, LaunchPlan& plan);
  absl::Status CheckTfConfig(const Round& round) const;
  bool NamesNodeRank() const;  // {node_rank}, in the command or in --env
  absl::StatusOr<ProcessSpec> SpecFor(const Round& round, uint32_t slot, LaunchPlan& plan,
                                      std::map<std::string, std::string>& replaced);
  absl::Status BindToCpus(const Round& round, uint32_t slot, ProcessSpec& spec, LaunchPlan& plan);
  void AddDevices(const Round& round, EnvironmentInput& input) const;
  CpuChoice CpusAtDevice(const Round& round, uint32_t slot) const;
  void ChooseOutput(const Round& round, uint32_t slot, ProcessSpec& spec) const;
  // --preflight: starts ms-ring in the process's place, which checks the ring and then becomes the command.
  void AddPreflight(const Round& round, ProcessSpec& spec) const;
  // Adds the secret that the process inherits: a gateway's, or that of ms-ring. A process can have only one.
  absl::Status HandOverTo(uint32_t slot, ProcessSpec& spec);
  bool IsOneForAll() const;
  // Returns the value for GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME; empty: they are not set.
  std::string InterfaceFor(const Round& round, LaunchPlan& plan);
  bool IsSetByUser(const std::string& variable) const;
  void Note(const std::string& notice, LaunchPlan& plan);

  const LauncherOptions options_;
  const bool brings_torch_store_;  // the command starts a store of its own, as its words and scripts show
  TableFiles made_tables_{options_.work_folder};
  std::vector<Opening> gateways_;
  std::function<void()> wake_;
  std::unique_ptr<Waiting> waiting_;
  std::string cluster_file_;     // of the round that was prepared last
  std::string log_folder_;       // empty: no logs are written
  std::set<std::string> noted_;  // each notice is logged once
};

}  // namespace muster::agent
