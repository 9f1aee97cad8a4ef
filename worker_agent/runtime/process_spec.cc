// The launcher's part for one process: its environment, devices, output, CPUs, and inherited secrets.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/settings/given_values.h"
#include "worker_agent/devices/device_cpus.h"
#include "worker_agent/keeper/files/device_log.h"
#include "worker_agent/launch/environment/placeholders.h"
#include "worker_agent/launch/slot_files.h"
#include "worker_agent/runtime/launcher_round.h"

namespace muster::agent {
namespace {

constexpr uint32_t kDefaultMaxRestarts = 3;

}  // namespace

absl::StatusOr<ProcessSpec> Launcher::SpecFor(const Round& round, uint32_t slot, LaunchPlan& plan,
                                              std::map<std::string, std::string>& replaced) {
  const AgentSettings& settings = options_.settings;
  ProcessSpec spec;
  spec.key = round.key(slot);
  spec.error_file = ErrorFile(options_.work_folder, slot);
  spec.stands_for_all = IsOneForAll();
  spec.waits_for_background = IsOneForAll() && settings.leftover != kLeftoverEnd;
  RemoveProgressAndStacks(options_.work_folder, slot);

  EnvironmentInput input;
  input.desired = &round.desired;
  input.peers = FileInput(round).peers;  // null in a large round, on all nodes
  input.slot = slot;
  if (slot < round.offers.size()) input.offer = round.offers[slot];
  AddDevices(round, input);
  input.is_one_for_node = IsOneForAll();
  input.job_id = settings.job_id;
  input.node_id = round.node_id;
  input.start_secret = options_.start_secret;
  input.own_address = round.own_address;
  input.collective_interface = round.collective_interface;
  input.is_jax_detected = settings.jax == "auto-detect";
  input.has_ompi = settings.ompi_env || input.is_jax_detected;
  input.has_tf_config = settings.tf_config;
  input.has_horovod_mpi = settings.horovod == "mpi";
  input.brings_own_store = brings_torch_store_;
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
  spec.env.push_back(absl::StrCat(kGivenVariable, "=", GivenValues(environment.given)));
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
  // A rank table and HCCL's chief use the machine's own device numbers.
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
  // A process that starts again alone finds no neighbours for the check, because they are training. So it skips the
  // check, if that has passed before. Where the check itself has failed, all processes start again, and check again.
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
  if (PassesOutput(options_.settings, options_.node.slots_size())) {
    spec.passes_output = true;
    spec.inherits_stdin = true;
    return;
  }
  if (Contains(ShownLive(options_.settings, options_.node.slots_size()), rank)) {
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
    return {{},
            "--bind_core=device: no process is bound, since it is not known which devices the processes get (set "
            "--devices)"};
  }
  std::vector<int> near = CpusOfDevice(kind, number, options_.roots);
  if (near.empty()) {
    return {{},
            absl::StrCat("--bind_core=device: sysfs does not show which CPUs device ", number,
                         " is at, so its process is not bound")};
  }
  const std::vector<int> allowed = AllowedCpus();
  std::erase_if(near, [&](int cpu) { return std::find(allowed.begin(), allowed.end(), cpu) == allowed.end(); });
  if (!near.empty()) return {std::move(near), ""};
  return {{},
          absl::StrCat("--bind_core=device: this agent may use no CPU that device ", number,
                       " is at, so its process is not bound")};
}

absl::Status Launcher::HandOverTo(uint32_t slot, ProcessSpec& spec) {
  for (Opening& opening : gateways_) {
    HandOver own = opening.is_ready ? opening.gateway->HandOverOf(slot) : HandOver();
    if (own.variable.empty()) continue;
    if (!spec.hand_over.variable.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "--preflight ring under TLS and ", own.variable,
          " each need a descriptor of the process, which can have only one; leave --preflight ring or --mpi out"));
    }
    spec.hand_over = std::move(own);
  }
  return absl::OkStatus();
}

std::vector<NumberRange> ShownLive(const AgentSettings& settings, int slots) {
  if (PassesOutput(settings, slots)) return {kAllRanks};
  if (settings.tail) return *settings.tail;
  return {settings.log_dir.empty() || settings.tee == "3" ? kAllRanks : NumberRange{0, 0}};
}

bool PassesOutput(const AgentSettings& settings, int slots) {
  const bool is_alone = slots == 1 || settings.per_node || settings.per_job;
  return is_alone && settings.log_dir.empty() && !settings.tail;
}

}  // namespace muster::agent
