// ms-worker's main program, from top to bottom: the agent's steps as the class Agent, then Main, which settles the
// settings and starts logging before it runs the Agent.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/fence_times.h"
#include "common/base/mutex_checks.h"
#include "common/base/os_error.h"
#include "common/base/text.h"
#include "common/hosts/endpoints.h"
#include "common/net/grpc_start.h"
#include "common/net/ip_address.h"
#include "common/net/net.h"
#include "common/net/service_manager.h"
#include "common/settings/given_values.h"
#include "common/settings/preamble.h"
#include "common/settings/settings.h"
#include "common/sys/log.h"
#include "common/sys/private_folder.h"
#include "common/sys/program.h"
#include "common/sys/room.h"
#include "common/tls/tls_settings.h"
#include "worker_agent/agent_tls.h"
#include "worker_agent/gateway/registry.h"
#include "worker_agent/launch/environment/environment.h"
#include "worker_agent/launch/work_folder.h"
#include "worker_agent/launch_error/launch_error.h"
#include "worker_agent/node/name_wait.h"
#include "worker_agent/node/node_description.h"
#include "worker_agent/node/node_devices.h"
#include "worker_agent/node/node_lock.h"
#include "worker_agent/node/own_scheduler.h"
#include "worker_agent/preflight/endpoints.h"
#include "worker_agent/preflight/preflight.h"
#include "worker_agent/runtime/agent_loop.h"
#include "worker_agent/session/farewell.h"
#include "worker_agent/settings/agent_settings.h"
#include "worker_agent/startup.h"

namespace muster::agent {
namespace {

constexpr char kNoSchedulerNamed[] =
    "no scheduler was named (--sched_host), so this machine is tried: start ms-scheduler here, or add --standalone "
    "(all processes on this machine) or --with_scheduler (several machines)";
constexpr size_t kKeeperProcesses = 6;  // guardian, keeper, the first shim and helpers (see client/keeper.h)
// The agent's threads: two of the session, four for TLS, one for slow queries, and a reserve for those that gRPC adds
// when it is busy. Each gateway needs more (GatewayRow::threads).
constexpr size_t kOwnThreads = 12;
constexpr size_t kDescriptors = 44;     // of the agent; a third of them are open only while the keeper is forked
constexpr size_t kOwnDescriptors = 28;  // the part of kDescriptors that is opened after the node's lock is taken
constexpr size_t kSlotDescriptors = 2;  // a slot's port and device; gateways add GatewayRow::slot_descriptors
constexpr absl::Duration kEndPatience = absl::Seconds(30);

// Returns the path of the program `name` in the folder of `own_program`.
std::string ProgramBeside(const std::string& own_program, const char* name) {
  return (std::filesystem::path(own_program).parent_path() / name).string();
}

int Fail(const absl::Status& status, int code = kExitUsage) {
  Log(Severity::kError, std::string(status.message()));
  return code;
}

// Makes --log_dir and checks that files can be written there. An error ends this start, so this runs before the node
// joins: no other node waits for this one yet.
absl::Status PrepareLogFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  const absl::StatusOr<UniqueFd> opened = OpenFolder(folder, {FolderTrust::kShared, /*makes_missing=*/true});
  if (opened.ok() && faccessat(opened->get(), ".", W_OK | X_OK, 0) == 0) return absl::OkStatus();
  const int error = opened.ok() ? errno : ErrnoOf(opened.status());
  const std::string why = opened.ok() ? std::strerror(error) : std::string(opened.status().message());
  return absl::InvalidArgumentError(TextWithRemedy(MakeLaunchError(
      LaunchStep::kLogFile, error, absl::StrCat("log_dir: no files can be written in ", folder, ": ", why))));
}

// One start of ms-worker: joins the job and stays with it until the end. Run takes the steps in the only order that
// works; comments at the steps say why.
class Agent {
 public:
  Agent(AgentSettings settings, std::map<std::string, std::string>& environment, ServiceManager manager)
      : settings_(std::move(settings)), environment_(environment), manager_(std::move(manager)) {}

  int Run() {
    for (const auto step :
         {&Agent::ForkKeeper, &Agent::TakeLockAndKeys, &Agent::TakeDevices, &Agent::FindScheduler,
          &Agent::StartOwnScheduler, &Agent::StartGrpcThreads, &Agent::DescribeThisNode, &Agent::CheckThisHost}) {
      if (const std::optional<int> code = (this->*step)()) return *code;
    }
    return StayWithTheJob();
  }

 private:
  // Each step returns nullopt, or, if it fails, the exit code with which ms-worker ends. The reason is then logged.
  std::optional<int> ForkKeeper();
  std::optional<int> TakeLockAndKeys();
  std::optional<int> TakeDevices();
  std::optional<int> FindScheduler();
  std::optional<int> StartOwnScheduler();
  std::optional<int> StartGrpcThreads();
  std::optional<int> DescribeThisNode();
  std::optional<int> CheckThisHost();
  int StayWithTheJob();

  std::optional<int> Await(const std::string& setting, const std::string& host, std::vector<IpAddress>& addresses) {
    return AwaitName(settings_, *signals_, manager_, setting, host, addresses);
  }
  bool has_lock() const { return lock_.has_value() && lock_->ok(); }
  NodeLock& lock() { return **lock_; }
  LauncherOptions OptionsOfLauncher();
  AgentLoopOptions OptionsOfLoop();
  absl::StatusOr<std::vector<MadeGateway>> MakeGateways(AgentLoop& loop);
  // Runs after the loop; `code` is the program's exit code.
  void Leave(const AgentLoop& loop, int code);
  void LetOwnSchedulerEnd(const AgentLoop& loop, int code);

  AgentSettings settings_;
  std::map<std::string, std::string>& environment_;
  const ServiceManager manager_;
  std::optional<Signals> signals_;
  std::optional<ProcessMark> mark_;
  std::unique_ptr<Keeper> keeper_;
  CountedLog counted_{Clock::System()};
  std::optional<absl::StatusOr<NodeLock>> lock_;  // an error: the agent goes on without a lock
  std::unique_ptr<AgentTls> tls_;                 // null: no TLS
  std::unique_ptr<OwnScheduler> scheduler_;       // null: this agent started no scheduler
  NodeDevices devices_;
  KnownNames names_;
  std::string loopback_remark_;  // from LoopbackRemark; empty: there is none, or it has been logged
  NodeDescription node_;
  const ServedGateways gateways_{settings_, environment_};
  std::unique_ptr<WorkFolder> folder_;
};

// Must come before gRPC starts, while this is the only thread: a fork copies only the thread that calls it.
std::optional<int> Agent::ForkKeeper() {
  const absl::Status room = CheckRoom({.tasks = kKeeperProcesses, .descriptors = kDescriptors});
  if (!room.ok()) return Fail(room);
  SetSignalPatience(SignalPatience(settings_));
  signals_.emplace();
  absl::StatusOr<StartedKeeper> started = StartKeeper(settings_, environment_);
  if (!started.ok()) return Fail(started.status());
  keeper_ = std::move(started->keeper);
  mark_ = started->mark;
  if (const absl::Status status = PrepareLogFolder(settings_.log_dir); !status.ok()) return Fail(status);
  return std::nullopt;
}

std::optional<int> Agent::TakeLockAndKeys() {
  // TakeNodeLock may fork a process, which must get no copy of keys and passwords. So the lock is taken before they are
  // read. The exception: if only the certificate names the node, the id is known only once that is read.
  const bool does_certificate_name_it = settings_.tls.is_on() && settings_.node_id.empty();
  if (!does_certificate_name_it) lock_.emplace(TakeNodeLock(settings_, environment_, signals_->fd(), mark_, *keeper_));
  const PasswordSource password = PasswordFrom(environment_, TlsRole::kClient);
  absl::StatusOr<std::unique_ptr<AgentTls>> tls = AgentTls::Open(settings_, password, counted_);
  if (!tls.ok()) return Fail(tls.status(), kExitSecurity);
  tls_ = *std::move(tls);
  // A scheduler that this agent starts inherits its password from these variables; then StartOwnScheduler wipes them.
  if (!settings_.standalone && !settings_.with_scheduler) WipePasswordVariables(environment_);
  if (settings_.standalone && !settings_.worker_num) settings_.worker_num = SlotCount(settings_, environment_);

  if (does_certificate_name_it) lock_.emplace(TakeNodeLock(settings_, environment_, signals_->fd(), mark_, *keeper_));
  RaiseDescriptorLimit();  // for sockets and reserved ports of each slot; the processes don't inherit this limit
  const absl::Status slot_room =
      CheckRoom({.descriptors = kOwnDescriptors + (kSlotDescriptors + gateways_.slot_descriptors()) *
                                                      SlotCount(settings_, environment_)});
  if (!slot_room.ok()) return Fail(slot_room);
  return std::nullopt;
}

std::optional<int> Agent::TakeDevices() {
  absl::StatusOr<NodeDevices> devices = TakeNodeDevices(settings_, environment_);
  if (!devices.ok()) return Fail(devices.status(), absl::IsUnavailable(devices.status()) ? kExitRefused : kExitUsage);
  devices_ = *std::move(devices);
  return std::nullopt;
}

std::optional<int> Agent::FindScheduler() {
  if (settings_.standalone) return std::nullopt;
  if (const auto code = Await("sched_host (MS_SCHED_HOST)", settings_.sched_host, names_.scheduler)) return code;
  loopback_remark_ = LoopbackRemark(settings_, names_.scheduler, SlotCount(settings_, environment_), LocalHostName());
  // With --with_scheduler and a loopback address, each machine would start a scheduler of its own, so this warns at
  // once. Without it, the remark is shown only if no scheduler is found at that address.
  if (settings_.with_scheduler && !loopback_remark_.empty()) {
    Log(Severity::kWarning, std::exchange(loopback_remark_, ""));
  }
  return std::nullopt;
}

std::optional<int> Agent::StartOwnScheduler() {
  absl::StatusOr<std::unique_ptr<OwnScheduler>> scheduler =
      OwnScheduler::StartIfWanted(settings_, names_.scheduler, WorkFolder::DefaultBase(environment_));
  if (!scheduler.ok()) return Fail(scheduler.status());
  scheduler_ = *std::move(scheduler);
  if (settings_.standalone) names_.scheduler = {*IpAddress::Parse(settings_.sched_host)};
  if (scheduler_ != nullptr) {
    Keeper::Spare(scheduler_->pid());
    if (const absl::Status status = scheduler_->WaitUntilItListens(settings_); !status.ok()) return Fail(status);
  }
  WipePasswordVariables(environment_);
  if (settings_.standalone) {  // the inherited values name another job's scheduler
    environment_.erase("MS_SCHED_HOST");
    environment_.erase("MS_SCHED_PORT");
  }
  return std::nullopt;
}

std::optional<int> Agent::StartGrpcThreads() {
  const absl::Status threads = StartGrpc(kOwnThreads + gateways_.threads() + 2 * SlotCount(settings_, environment_));
  if (!threads.ok()) return Fail(threads);
  return std::nullopt;
}

std::optional<int> Agent::DescribeThisNode() {
  if (!settings_.master_addr.empty()) {
    const auto code = Await("torch_master_addr (MASTER_ADDR)", settings_.master_addr, names_.master);
    if (code) return code;
  }
  absl::StatusOr<NodeDescription> node = DescribeNode(settings_, environment_, devices_.choice, names_);
  if (!node.ok()) return Fail(node.status());
  node_ = *std::move(node);
  AddEndpointFacts(EndpointsOf(settings_, environment_, gateways_.Has("jax")), node_.node);
  // The folder's name gets a random number of its own, not the incarnation: other users can see the name, and without
  // TLS the incarnation is the only proof that a message comes from this agent.
  auto folder = WorkFolder::Create(WorkFolder::DefaultBase(environment_), settings_.job_id, NewIncarnation());
  if (!folder.ok()) return Fail(folder.status());
  folder_ = *std::move(folder);
  if (has_lock()) lock().KeepFolder(folder_->path());
  if (tls_ != nullptr) {
    node_.node.set_certificate_fingerprint(tls_->store()->Current()->identity->leaf().Fingerprint());
  }
  node_.node.set_is_fence_guarded(keeper_->is_guarded());
  // When the first process (pid 1) of a pid namespace ends, the kernel kills all others in it.
  node_.node.set_ends_with_all_four(keeper_->is_isolated() || getpid() == 1);
  return std::nullopt;
}

std::optional<int> Agent::CheckThisHost() {
  const absl::Status fit = CheckHost(settings_, environment_, devices_, node_.own_address, node_.node);
  if (!fit.ok()) return Fail(fit, kExitRefused);
  return RunFirstNodeCheck(settings_, environment_, *signals_, manager_, node_.node);
}

LauncherOptions Agent::OptionsOfLauncher() {
  LauncherOptions options{settings_,
                          node_.node,
                          std::move(node_.table_devices),
                          environment_,
                          folder_->path(),
                          node_.own_address,
                          PythonFolder(OwnProgram()),
                          ProgramBeside(OwnProgram(), "ms-ring"),
                          nullptr,
                          has_lock() ? lock().secret() : ""};
  options.own_name = node_.own_name;
  options.devices = devices_.choice;
  options.roots = devices_.roots;
  options.has_ascend = devices_.has_ascend;
  options.exec_program = ProgramBeside(OwnProgram(), "ms-exec");
  if (tls_ != nullptr) {
    options.hand_over = [this](const std::string& fingerprint) { return tls_->Pack(fingerprint); };
  }
  return options;
}

AgentLoopOptions Agent::OptionsOfLoop() {
  AgentLoopOptions options;
  options.agent.job_id = settings_.job_id;
  options.agent.node_id = settings_.node_id;
  if (settings_.node_id.empty() && has_lock()) options.agent.kept_node_id = lock().kept_id();
  options.agent.incarnation = NewIncarnation();
  options.agent.settings = node_.settings;
  options.agent.node = node_.node;
  if (has_lock()) {
    options.agent.node.set_lock_token(lock().token());
    options.agent.node.set_lock_count(lock().take());
    options.agent.node.set_lock_start(lock().start());
    for (const uint64_t start : lock().ended()) options.agent.node.add_ended_starts(start);
    std::string doubt = lock().doubt();
    CutText(doubt, kMaxShortTextBytes);
    options.agent.node.set_former_start_doubt(doubt);
  }
  options.agent.retry_num = settings_.cluster_retry_num;
  options.agent.stop_timeout = settings_.stop_timeout;
  options.agent.fence_stop_timeout = FenceStopTimeout(settings_.fence_stop_timeout, settings_.stop_timeout);
  options.agent.passes_interrupt = !settings_.stop_signal;
  options.agent.scheduler = JoinHostPort(settings_.sched_host, settings_.sched_port);
  options.agent.scheduler_hint = loopback_remark_;
  if (settings_.names_no_scheduler && scheduler_ == nullptr) options.agent.scheduler_hint = kNoSchedulerNamed;
  // HCCL's rank table or chief needs the devices of all nodes.
  options.agent.wants_whole_peer_list = !settings_.hccl_mode.empty() || gateways_.need_all_peers();
  options.agent.has_command = !settings_.command.empty();
  options.agent.shown_ranks = ShownLive(settings_, node_.node.slots_size());
  options.session.host = settings_.sched_host;
  options.session.port = settings_.sched_port;
  options.session.job_id = settings_.job_id;
  options.session.security.requires_tls = settings_.tls.require_tls;
  if (tls_ != nullptr) {
    options.session.security.tls = tls_->store();
    options.hand_over = [this] { return tls_->Pack(); };
  }
  options.session.request_timeout = RequestTimeout(settings_);
  options.program = OwnProgram();
  options.work_folder = folder_->path();
  if (const auto found = environment_.find("PATH"); found != environment_.end()) options.search_path = found->second;
  if (!settings_.per_node && !settings_.per_job) {
    options.slot_devices = UsedDevices(settings_, environment_, devices_);
  }
  if (ChecksNode(settings_)) {
    options.node_check = MakeNodeCheck(settings_.node_check, environment_, settings_.node_check_timeout);
  }
  if (!settings_.log_dir.empty()) {
    options.logs.base = std::filesystem::path(settings_.log_dir).lexically_normal().string();
    if (options.logs.base.size() > 1 && options.logs.base.back() == '/') options.logs.base.pop_back();
    options.logs.keep = settings_.keep_logs;
  }
  options.manager = manager_;
  options.scheduler = scheduler_.get();
  options.has_whole_job = settings_.standalone;
  options.on_welcome = [this](const std::string& id) {
    if (has_lock()) lock().Keep(settings_.node_id.empty() ? id : "");
  };
  return options;
}

int Agent::StayWithTheJob() {
  RaiseDescriptorLimit();  // PyTorch's store takes a descriptor for each connection
  Launcher launcher(OptionsOfLauncher());
  AgentLoop loop(OptionsOfLoop(), std::move(keeper_), launcher, *signals_,
                 OpenKernelLog(settings_, environment_, devices_), Clock::Boot());
  for (const std::string& warning : node_.warnings) Log(Severity::kWarning, warning);
  // Declared after the loop, so that they are destroyed before it: their threads call the loop.
  const absl::StatusOr<std::vector<MadeGateway>> gateways = MakeGateways(loop);
  if (!gateways.ok()) return Fail(gateways.status());
  for (const MadeGateway& made : *gateways) launcher.AddGateway(*made.gateway, made.is_required, made.without);
  if (tls_ != nullptr) {
    const absl::Status started =
        tls_->Start([&](bool has_new_certificate) { loop.NoteTlsChange(has_new_certificate); });
    if (!started.ok()) return Fail(started);
  }
  manager_.Ready(absl::StrCat("joining job ", settings_.job_id));
  const int code = loop.Run();
  Leave(loop, code);
  return code;
}

absl::StatusOr<std::vector<MadeGateway>> Agent::MakeGateways(AgentLoop& loop) {
  return gateways_.Make(
      {.settings = settings_,
       .environment = environment_,
       .store = loop.store(),
       .clock = Clock::System(),
       .tls = tls_ != nullptr ? tls_->store() : nullptr,
       .work_folder = folder_->path(),
       .programs = std::filesystem::path(OwnProgram()).parent_path().string(),
       .mindspore_ports = node_.gateway_ports,
       .no_mindspore_ports = node_.no_gateway,
       .exec_port = static_cast<uint16_t>(node_.node.exec_port()),
       .report_commands = [&loop](v1::RemoteCommands commands) { loop.ReportCommands(std::move(commands)); }});
}

void Agent::Leave(const AgentLoop& loop, int code) {
  EndAtTheLatest(kEndPatience, code);
  if (tls_ != nullptr) tls_->Stop();  // its thread calls the loop, so it must end first
  if (loop.HasOutcome() && !loop.LeavesSome() && has_lock()) lock().Remove();
  LetOwnSchedulerEnd(loop, code);
  manager_.Stopping();  // from now on systemd does not wait for long
}

// Waits for the end of the scheduler that this agent started, since other nodes may still need it. If the job has
// ended, they learn the outcome from it; they may take stop_timeout to stop their processes. If this node was drained,
// the other nodes go on with the job.
void Agent::LetOwnSchedulerEnd(const AgentLoop& loop, int code) {
  if (scheduler_ == nullptr || (!loop.HasOutcome() && !loop.HasLeftWell())) return;
  EndAtTheLatest(absl::InfiniteDuration(), code);  // the wait below may last as long as the job
  if (!loop.HasOutcome()) Log(Severity::kInfo, "the scheduler of the job runs here, until the job has ended");
  scheduler_->WaitForEnd(loop.HasOutcome() ? settings_.stop_timeout + absl::Seconds(5) : absl::InfiniteDuration(),
                         /*restarts=*/!loop.HasOutcome(), [this] { return signals_->TakeEnd(); });
  EndAtTheLatest(kEndPatience, code);
}

int Main(const std::vector<std::string>& args) {
  StopWatchingMutexOrder();
  AgentSettings settings;
  SettingsTable table = AgentSettingsTable(settings);
  std::map<std::string, std::string> environment = OwnEnvironment();
  LoadResult loaded = LoadSettings(table, args, environment, true);
  if (const auto code = AnswerAtOnce(table, loaded)) return *code;
  settings.command = loaded.command;
  // This comes before ServiceManager::Take, which removes systemd's variables: the scheduler replaces this process and
  // needs them.
  if (settings.role == "MS_SCHED") return BecomeScheduler(FlagsOf(args, loaded.command));
  const ServiceManager manager = ServiceManager::Take();
  for (const char* name : ServiceManager::kVariables) environment.erase(name);
  TakeMore(table, environment, settings, loaded);

  const Settled settled = Settle(table, loaded,
                                 {.more = FindMore(settings, environment),
                                  .word_rule = " before --; the command follows it",
                                  .only_checks = settings.check_config,
                                  .timeouts = [&] { return AgentTimeouts(settings); }});
  if (settled.exit_code) return *settled.exit_code;
  const absl::Status logging = InitLogging({"ms-worker", settings.log_format, settings.log_level, ""});
  if (!logging.ok()) return Fail(logging);
  QuietProtobuf();
  if (settings.checks_start) return CheckStart(std::move(settings), environment, settled.warnings);
  for (const std::string& warning : settled.warnings) Log(Severity::kWarning, warning);
  if (const auto problem = SettleCommand(settings, environment)) {
    return Fail(absl::InvalidArgumentError(problem->text), problem->exit_code);
  }
  return Agent(std::move(settings), environment, manager).Run();
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  muster::BeginProgram("ms-worker");
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == muster::agent::kLastReportFlag) {
    muster::EndProgram(muster::agent::RunLastReport({args.begin() + 1, args.end()}));
  }
  muster::EndProgram(muster::agent::Main(args));
}
