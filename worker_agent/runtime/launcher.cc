#include "worker_agent/runtime/launcher.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/net/ip_address.h"
#include "worker_agent/ascend/chief.h"
#include "worker_agent/ascend/made_table.h"
#include "worker_agent/launch/command/launchers.h"
#include "worker_agent/launch/environment/collective_interface.h"
#include "worker_agent/launch/environment/rank_formula.h"
#include "worker_agent/launch/peers.h"
#include "worker_agent/launch_error/launch_error.h"
#include "worker_agent/runtime/launcher_round.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxNoted = 100;  // how many remarks of the scheduler are logged

}  // namespace

// The rest of a Prepare, to be done once all gateways are ready.
struct Launcher::Waiting {
  Round round;
  LaunchPlan plan;
  std::vector<uint32_t> slots;
};

LaunchFailed FailedLaunch(const Launch& launch, const absl::Status& why) {
  LaunchError error = LaunchErrorOf(why);
  return {launch.desired.round(),  launch.slots,   std::move(error.text), std::move(error.reason),
          std::move(error.remedy), error.exit_code};
}

Launcher::Launcher(LauncherOptions options)
    : options_(std::move(options)), brings_torch_store_(BringsTorchStore(options_.settings.command)) {}
Launcher::~Launcher() = default;

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
  // The scheduler's remarks on variables of this node that do harm (common/hosts/endpoints.h).
  for (const std::string& remark : round->desired.remarks()) {
    if (noted_.size() < kMaxNoted && noted_.insert(remark).second) plan.warnings.push_back(remark);
  }
  const absl::Status written = WriteClusterFile(round->cluster_file, FileInput(*round));
  if (!written.ok()) return At(LaunchStep::kWorkFile, written);
  // No process of the previous round runs any more: the core does not start two rounds side by side.
  if (!cluster_file_.empty() && cluster_file_ != round->cluster_file) unlink(cluster_file_.c_str());
  cluster_file_ = round->cluster_file;
  if (const absl::Status status = PrepareHccl(*round); !status.ok()) return status;
  if (const absl::Status opened = BeginGateways(*round, plan); !opened.ok()) return opened;
  waiting_ = std::make_unique<Waiting>(Waiting{*std::move(round), std::move(plan), std::move(slots)});
  return Continue();
}

absl::StatusOr<LaunchPlan> Launcher::Continue() {
  for (Opening& opening : gateways_) {
    if (!opening.is_ready) continue;
    const std::optional<absl::Status> begun = opening.gateway->WhenBegun();
    if (!begun) {
      LaunchPlan later;
      later.is_waiting = true;
      return later;
    }
    if (!begun->ok()) return *begun;
  }
  const std::unique_ptr<Waiting> waiting = std::move(waiting_);
  auto& [round, plan, slots] = *waiting;
  if (IsOneForAll() && slots.size() > 1) {
    std::vector<ProcessKey>& followers = plan.followers[round.key(slots[0])];
    for (size_t i = 1; i < slots.size(); ++i) followers.push_back(round.key(slots[i]));
    slots.resize(1);
  }
  round.collective_interface = InterfaceFor(round, plan);
  std::map<std::string, std::string> replaced;
  for (const uint32_t slot : slots) {
    absl::StatusOr<ProcessSpec> spec = SpecFor(round, slot, plan, replaced);
    if (!spec.ok()) return spec.status();
    plan.specs.push_back(*std::move(spec));
  }
  Note(ReplacedNotice(replaced), plan);
  return std::move(plan);
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
  if (!text.ok()) return At(LaunchStep::kSettings, text.status());
  absl::StatusOr<std::string> path = made_tables_.Write(round.desired.round(), *text);
  if (!path.ok()) return At(LaunchStep::kWorkFile, path.status());
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
  of.wake = wake_;
  if (round.peers) of.peers = std::make_shared<const v1::PeerList>(*round.peers);
  for (Opening& opening : gateways_) {
    opening.is_begun = true;
    const absl::Status begun = opening.gateway->Begin(of);
    opening.is_ready = begun.ok();
    if (begun.ok()) continue;
    if (opening.is_required || opening.gateway->IsNeeded(of)) return begun;
    Note(absl::StrCat(opening.without, ": ", std::string(begun.message())), plan);
  }
  return absl::OkStatus();
}

void Launcher::NotifyStopping(const std::string& why, absl::Duration limit) {
  for (Opening& opening : gateways_) {
    if (opening.is_begun) opening.gateway->Stopping(why, limit);
  }
}

void Launcher::NotifyOver(const std::string& why) {
  for (Opening& opening : gateways_) {
    if (opening.is_begun) opening.gateway->WhyOver(why);
  }
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

// Refuses {node_rank} if several agents of the job are on one machine. They all have the same node rank, so the
// launchers that they start would all take the same place.
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
  return absl::FailedPreconditionError(absl::StrCat("--tf_config: TF_CONFIG names all ranks, at most ",
                                                    kMaxRanksInClusterFile, "; this job has ", ranks,
                                                    ". Leave --tf_config out"));
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

bool Launcher::IsOneForAll() const { return options_.settings.per_node || options_.settings.per_job; }

void Launcher::Note(const std::string& notice, LaunchPlan& plan) {
  if (!notice.empty() && noted_.insert(notice).second) plan.notices.push_back(notice);
}

}  // namespace muster::agent
