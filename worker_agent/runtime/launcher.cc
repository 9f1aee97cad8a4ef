#include "worker_agent/runtime/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/net/ip_address.h"
#include "worker_agent/ascend/chief.h"
#include "worker_agent/ascend/made_table.h"
#include "worker_agent/devices/device_cpus.h"
#include "worker_agent/keeper/files/device_log.h"
#include "worker_agent/launch/command/launchers.h"
#include "worker_agent/launch/environment/collective_interface.h"
#include "worker_agent/launch/environment/placeholders.h"
#include "worker_agent/launch/environment/rank_formula.h"
#include "worker_agent/launch/peers.h"
#include "worker_agent/launch/slot_files.h"

namespace muster::agent {

// What all processes of one launch share.
struct Launcher::Round {
  v1::DesiredState desired;
  std::optional<v1::PeerList> peers;
  std::vector<v1::SlotOffer> offers;  // of this node, by slot
  std::string node_id;
  std::string own_address;
  std::string own_fingerprint;  // as the peers know it
  std::string cluster_file;
  std::string collective_interface;  // empty: not told
  std::string rank_table_file;       // the user's, or the one made for this round; empty: none
  std::optional<HcclChief> hccl_chief;
  std::vector<std::string> command;

  const v1::SlotAssignment& slot(uint32_t slot) const { return desired.assignment().slots(static_cast<int>(slot)); }
  ProcessKey key(uint32_t slot_number) const { return {slot_number, desired.round(), slot(slot_number).attempt()}; }
};

namespace {

constexpr uint32_t kDefaultMaxRestarts = 3;

}  // namespace

Launcher::Launcher(LauncherOptions options) : options_(std::move(options)) {}

absl::StatusOr<LaunchPlan> Launcher::Prepare(const Launch& launch, const std::string& node_id) {
  absl::StatusOr<Round> round = OpenRound(launch.desired, launch.peer_list, node_id);
  if (!round.ok()) return round.status();
  LaunchPlan plan;
  std::vector<uint32_t> slots = launch.slots;
  const bool runs_elsewhere = options_.settings.per_job && round->slot(0).rank() != 0;
  if (runs_elsewhere && options_.settings.allows_exec) round->command = {options_.exec_program, "--serve"};
  if (runs_elsewhere && !options_.settings.allows_exec) {
    for (const uint32_t slot : slots) plan.done_at_once.push_back(round->key(slot));
    return plan;
  }
  if (absl::Status status = CheckNodeRank(*round); !status.ok()) return status;
  if (absl::Status status = CheckTfConfig(*round); !status.ok()) return status;
  WarnOfRankFormula(*round, plan);
  const absl::Status written = WriteClusterFile(round->cluster_file, FileInput(*round));
  if (!written.ok()) return written;
  // Nothing of the round before runs any more: the core starts none beside it.
  if (!cluster_file_.empty() && cluster_file_ != round->cluster_file) unlink(cluster_file_.c_str());
  cluster_file_ = round->cluster_file;
  if (const absl::Status status = PrepareHccl(*round); !status.ok()) return status;
  if (const absl::Status opened = BeginGateways(*round, plan); !opened.ok()) return opened;
  if (IsOneForAll() && slots.size() > 1) {
    std::vector<ProcessKey>& followers = plan.followers[round->key(slots[0])];
    for (size_t i = 1; i < slots.size(); ++i) followers.push_back(round->key(slots[i]));
    slots.resize(1);
  }
  round->collective_interface = InterfaceFor(*round, plan);
  std::map<std::string, std::string> replaced;
  for (const uint32_t slot : slots) {
    absl::StatusOr<ProcessSpec> spec = SpecFor(*round, slot, plan, replaced);
    if (!spec.ok()) return spec.status();
    plan.specs.push_back(*std::move(spec));
  }
  Note(ReplacedNotice(replaced), plan);
  return plan;
}

absl::StatusOr<std::string> Launcher::AssignmentText(const PrintAssignment& print, const std::string& node_id) const {
  const absl::StatusOr<Round> round = OpenRound(print.desired, print.peer_list, node_id);
  if (!round.ok()) return round.status();
  return ClusterFileText(FileInput(*round));
}

absl::StatusOr<Launcher::Round> Launcher::OpenRound(const v1::DesiredState& desired,
                                                    const std::shared_ptr<const std::string>& peer_list,
                                                    const std::string& node_id) const {
  Round round;
  round.desired = desired;
  round.node_id = node_id;
  round.command = options_.settings.command;
  if (peer_list != nullptr) {
    absl::StatusOr<v1::PeerList> peers = CheckedPeerList(*peer_list, options_.settings.job_id, desired);
    if (!peers.ok()) return peers.status();
    round.peers = *std::move(peers);
  }
  round.offers.assign(options_.node.slots().begin(), options_.node.slots().end());
  SetDevices(options_.table_devices, options_.node, desired.assignment(), round.offers,
             round.peers ? &*round.peers : nullptr);
  round.own_fingerprint = absl::BytesToHexString(desired.assignment().certificate_fingerprint());
  round.own_address = AddressText(desired.assignment().address());
  if (round.own_address.empty()) round.own_address = options_.own_address;
  round.cluster_file = absl::StrCat(options_.work_folder, "/cluster-", desired.round(), ".json");
  return round;
}

ClusterFileInput Launcher::FileInput(const Round& round) const {
  ClusterFileInput input;
  input.desired = &round.desired;
  const v1::Assignment& assignment = round.desired.assignment();
  const bool is_large = assignment.worker_num() + assignment.server_num() > kMaxRanksInClusterFile;
  input.peers = round.peers && !is_large ? &*round.peers : nullptr;
  input.job_id = options_.settings.job_id;
  input.node_id = round.node_id;
  input.host_name = options_.node.host_name();
  input.own_address = round.own_address;
  input.offers = round.offers;
  return input;
}

absl::Status Launcher::PrepareHccl(Round& round) {
  const AgentSettings& settings = options_.settings;
  round.rank_table_file = settings.rank_table_file;
  const bool makes_table = settings.hccl_mode == "table" && settings.rank_table_file.empty();
  if (!makes_table && settings.hccl_mode != "chief") return absl::OkStatus();
  if (!round.peers) return absl::InternalError("the peer list is missing, which --hccl_mode needs");
  if (absl::Status same = CheckSameHcclMode(settings.hccl_mode, *round.peers); !same.ok()) return same;
  if (!makes_table) {
    absl::StatusOr<HcclChief> chief = ChiefOf(*round.peers);
    if (!chief.ok()) return chief.status();
    round.hccl_chief = *std::move(chief);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text = RankTableText(DevicesOf(*round.peers));
  if (!text.ok()) return text.status();
  absl::StatusOr<std::string> path = made_tables_.Write(round.desired.round(), *text);
  if (!path.ok()) return path.status();
  round.rank_table_file = *std::move(path);
  return absl::OkStatus();
}

absl::Status Launcher::BeginGateways(const Round& round, LaunchPlan& plan) {
  if (gateways_.empty()) return absl::OkStatus();
  GatewayRound of;
  of.run = round.desired.run();
  of.round = round.desired.round();
  of.node_id = round.node_id;
  of.assignment = round.desired.assignment();
  of.host_name = options_.node.host_name();
  of.own_address = round.own_address;
  if (round.peers) of.peers = std::make_shared<const v1::PeerList>(*round.peers);
  for (Opening& opening : gateways_) {
    opening.is_begun = true;
    const absl::Status begun = opening.gateway->Begin(of);
    opening.is_ready = begun.ok();
    if (begun.ok()) continue;
    if (opening.is_required || opening.gateway->IsNeeded(of)) return begun;
    Note(absl::StrCat(opening.gateway->Without(), ": ", std::string(begun.message())), plan);
  }
  return absl::OkStatus();
}

void Launcher::EndRound(uint64_t run, uint32_t round) {
  for (Opening& opening : gateways_) {
    if (std::exchange(opening.is_begun, false)) opening.gateway->Over(run, round);
  }
}

void Launcher::Started(const ProcessKey& key, int64_t pid) {
  for (Opening& opening : gateways_) {
    if (opening.is_ready) opening.gateway->Started(key, pid);
  }
}

void Launcher::Judge(const ProcessKey& key, ProcessEnd& end) {
  for (Opening& opening : gateways_) {
    if (opening.is_ready) opening.gateway->Judge(key, end);
  }
}

absl::Status Launcher::HandOverTo(uint32_t slot, ProcessSpec& spec) {
  for (Opening& opening : gateways_) {
    HandOver own = opening.is_ready ? opening.gateway->HandOverOf(slot) : HandOver();
    if (own.variable.empty()) continue;
    if (!spec.hand_over.variable.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--preflight ring under TLS and ", own.variable,
          " each need a descriptor of the process, which can have one; leave --preflight ring or --mpi out"));
    }
    spec.hand_over = std::move(own);
  }
  return absl::OkStatus();
}

// Agents of one machine are told the same {node_rank}: launchers that are started for each of them would take
// themselves for one.
absl::Status Launcher::CheckNodeRank(const Round& round) const {
  const AgentSettings& settings = options_.settings;
  const v1::Assignment& assignment = round.desired.assignment();
  const bool is_alone = static_cast<uint32_t>(assignment.slots_size()) >= assignment.local_world_size();
  if (!settings.per_node || is_alone || !NamesNodeRank()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "--per_node: another agent of this job runs on this machine, so {node_rank} would be ", assignment.node_rank(),
      " for both; start one agent on each machine, or give each one here a --machine NAME of its own"));
}

bool Launcher::NamesNodeRank() const {
  const AgentSettings& settings = options_.settings;
  const auto names_it = [](const std::string& text) { return absl::StrContains(text, "{node_rank}"); };
  return std::any_of(settings.command.begin(), settings.command.end(), names_it) ||
         std::any_of(settings.env.begin(), settings.env.end(),
                     [&](const auto& variable) { return names_it(variable.second); });
}

void Launcher::WarnOfRankFormula(const Round& round, LaunchPlan& plan) {
  const bool is_one_for_node = options_.settings.per_node;
  if (!is_one_for_node && !NamesNodeRank()) return;
  const v1::PeerList* peers = round.peers ? &*round.peers : nullptr;
  const std::string warning = RankFormulaWarning(round.desired.assignment(), peers, is_one_for_node);
  if (!warning.empty() && noted_.insert(warning).second) plan.warnings.push_back(warning);
}

absl::Status Launcher::CheckTfConfig(const Round& round) const {
  const v1::Assignment& assignment = round.desired.assignment();
  const uint32_t ranks = assignment.worker_num() + assignment.server_num();
  if (!options_.settings.tf_config || (round.peers && ranks <= kMaxRanksInClusterFile)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("--tf_config: TF_CONFIG names all ranks, and that is done up to ",
                                                    kMaxRanksInClusterFile, " of them; this job has ", ranks,
                                                    ". Leave --tf_config out"));
}

absl::StatusOr<ProcessSpec> Launcher::SpecFor(const Round& round, uint32_t slot, LaunchPlan& plan,
                                              std::map<std::string, std::string>& replaced) {
  const AgentSettings& settings = options_.settings;
  ProcessSpec spec;
  spec.key = round.key(slot);
  spec.error_file = ErrorFile(options_.work_folder, slot);
  RemoveProgressAndStacks(options_.work_folder, slot);

  EnvironmentInput input;
  input.desired = &round.desired;
  input.peers = FileInput(round).peers;  // on all nodes alike
  input.slot = slot;
  if (slot < round.offers.size()) input.offer = round.offers[slot];
  AddDevices(round, input);
  input.is_one_for_node = IsOneForAll();
  input.job_id = settings.job_id;
  input.node_id = round.node_id;
  input.start_secret = options_.start_secret;
  input.own_address = round.own_address;
  input.collective_interface = round.collective_interface;
  input.has_ompi = settings.ompi_env;
  input.has_tf_config = settings.tf_config;
  input.brings_own_store = BringsTorchStore(settings.command);
  input.scheduler_host = settings.sched_host;
  input.scheduler_port = settings.sched_port;
  input.cluster_file = round.cluster_file;
  input.progress_file = ProgressFile(options_.work_folder, slot);
  input.stacks_file = StacksFile(options_.work_folder, slot);
  input.python_folder = options_.python_folder;
  input.error_file = spec.error_file;
  input.rank_table_file = round.rank_table_file;
  input.hccl_chief = round.hccl_chief;
  input.master_address = settings.master_addr;
  input.master_port = settings.master_port;
  input.max_restarts =
      settings.max_restarts.value_or(settings.enable_recovery.value_or(false) ? kDefaultMaxRestarts : 0);
  input.enable_recovery = settings.enable_recovery;
  input.inherited = options_.environment;
  input.overrides = settings.env;
  for (const Opening& opening : gateways_) {
    if (opening.is_ready) opening.gateway->AddTo(input);
  }
  const Environment environment = BuildEnvironment(input);

  spec.env = environment.variables;
  if (options_.has_ascend) spec.device_logs = DeviceLogFolder(spec.env);
  spec.argv = FillPlaceholders(round.command, PlaceholdersFor(input, environment));
  AddPreflight(round, spec);
  if (absl::Status handed = HandOverTo(slot, spec); !handed.ok()) return handed;
  replaced.insert(environment.replaced.begin(), environment.replaced.end());
  ChooseOutput(round, slot, spec);
  if (const absl::Status bound = BindToCpus(round, slot, spec, plan); !bound.ok()) return bound;
  return spec;
}

void Launcher::AddDevices(const Round& round, EnvironmentInput& input) const {
  const v1::Assignment& assignment = round.desired.assignment();
  const bool is_alone = static_cast<uint32_t>(assignment.slots_size()) >= assignment.local_world_size();
  // A rank table and HCCL's chief count devices as the machine does.
  const bool counts_all = !options_.settings.hccl_mode.empty() || !round.rank_table_file.empty();
  DeviceWords words = WordsFor(options_.devices, input.slot, is_alone && !counts_all);
  input.device_variable = std::move(words.variable);
  input.visible_devices = std::move(words.list);
  input.are_devices_named = options_.devices.are_named;
  input.device_id = std::move(words.device_id);
}

void Launcher::AddPreflight(const Round& round, ProcessSpec& spec) const {
  if (!ChecksRing(options_.settings)) return;
  const std::string passed = PassedFile(options_.work_folder, spec.key.slot);
  std::error_code ignored;
  // A process that is started again by itself finds no neighbours that check anything: they are training. But where the
  // check itself failed, all start again.
  if (spec.key.attempt > 0 && std::filesystem::exists(passed, ignored)) return;
  std::filesystem::remove_all(passed, ignored);
  spec.env.push_back(absl::StrCat("MUSTER_RING_PASSED=", passed));
  spec.argv.insert(spec.argv.begin(), {options_.ring_program, "--"});
  if (options_.hand_over) spec.hand_over = options_.hand_over(round.own_fingerprint);
}

void Launcher::ChooseOutput(const Round& round, uint32_t slot, ProcessSpec& spec) const {
  const uint32_t rank = round.slot(slot).rank();
  const bool is_server = round.desired.assignment().role() == v1::ROLE_SERVER;
  const bool has_log = !log_folder_.empty();
  // The keeper appends, so that a restart continues the log.
  if (has_log) spec.log_path = absl::StrCat(log_folder_, "/", is_server ? "server_" : "worker_", rank, ".log");
  const std::optional<Tail>& tail = options_.settings.tail;
  if (PassesOutput(options_.settings, options_.node.slots_size())) {
    spec.passes_output = true;
    spec.inherits_stdin = true;
    return;
  }
  if (tail ? tail->Contains(rank) : !has_log || options_.settings.tee == "3") {
    spec.prefix = absl::StrCat(is_server ? "[server " : "[rank ", rank, "] ");
  }
}

absl::Status Launcher::BindToCpus(const Round& round, uint32_t slot, ProcessSpec& spec, LaunchPlan& plan) {
  const CoreBinding& binding = options_.settings.bind_core;
  if (binding.is_off() || IsOneForAll()) return absl::OkStatus();
  absl::StatusOr<CpuChoice> choice =
      binding.is_device ? CpusAtDevice(round, slot)
                        : ChooseCpus(binding, round.slot(slot).local_rank(),
                                     round.desired.assignment().local_world_size(), InNumaOrder(AllowedCpus()));
  if (!choice.ok()) return choice.status();
  spec.cpus = std::move(choice->cpus);
  Note(choice->notice, plan);
  return absl::OkStatus();
}

CpuChoice Launcher::CpusAtDevice(const Round& round, uint32_t slot) const {
  const std::string kind = options_.devices.kind.empty() ? FindDevices(options_.roots.dev, options_.environment).kind
                                                         : options_.devices.kind;
  uint32_t number = 0;
  if (slot >= round.offers.size() || !absl::SimpleAtoi(round.offers[slot].device_id(), &number)) {
    return {{}, "--bind_core=device: no process is bound, since it is not known which devices they get (--devices)"};
  }
  std::vector<int> near = CpusOfDevice(kind, number, options_.roots);
  if (near.empty()) {
    return {{},
            absl::StrCat("--bind_core=device: nothing tells which CPUs device ", number,
                         " is at (sysfs), so its process is not bound")};
  }
  const std::vector<int> allowed = AllowedCpus();
  std::erase_if(near, [&](int cpu) { return std::find(allowed.begin(), allowed.end(), cpu) == allowed.end(); });
  if (!near.empty()) return {std::move(near), ""};
  return {{},
          absl::StrCat("--bind_core=device: this agent may use no CPU that device ", number,
                       " is at, so its process is not bound")};
}

std::string Launcher::InterfaceFor(const Round& round, LaunchPlan& plan) {
  const auto address = IpAddress::Parse(round.own_address);
  if (!address || round.desired.assignment().machine_num() <= 1 || IsSetByUser("GLOO_SOCKET_IFNAME")) return "";
  CollectiveInterface chosen = ChooseCollectiveInterface(options_.interfaces(), options_.own_name, *address);
  if (!chosen.warning.empty() && noted_.insert(chosen.warning).second) plan.warnings.push_back(chosen.warning);
  return chosen.name;
}

bool Launcher::IsSetByUser(const std::string& variable) const {
  const auto inherited = options_.environment.find(variable);
  return options_.settings.env.contains(variable) ||
         (inherited != options_.environment.end() && !inherited->second.empty());
}

bool PassesOutput(const AgentSettings& settings, int slots) {
  const bool is_alone = slots == 1 || settings.per_node || settings.per_job;
  return is_alone && settings.log_dir.empty() && !settings.tail;
}

bool Launcher::IsOneForAll() const { return options_.settings.per_node || options_.settings.per_job; }

void Launcher::Note(const std::string& notice, LaunchPlan& plan) {
  if (!notice.empty() && noted_.insert(notice).second) plan.notices.push_back(notice);
}

}  // namespace muster::agent
