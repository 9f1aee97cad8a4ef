// ms-worker: settings, logging, scheduler of its own, keeper, node, loop.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/beginning.h"
#include "common/clock.h"
#include "common/descriptor_limit.h"
#include "common/ending.h"
#include "common/exit_codes.h"
#include "common/grpc_start.h"
#include "common/ip_address.h"
#include "common/log.h"
#include "common/mutex_checks.h"
#include "common/private_folder.h"
#include "common/protobuf_log.h"
#include "common/room.h"
#include "common/runtime_paths.h"
#include "common/settings/settings.h"
#include "common/text.h"
#include "common/tls/tls_settings.h"
#include "common/version.h"
#include "worker_agent/agent_settings.h"
#include "worker_agent/agent_tls.h"
#include "worker_agent/gateway/mindspore/gateway.h"
#include "worker_agent/launch/command_check.h"
#include "worker_agent/launch/work_folder.h"
#include "worker_agent/runtime/agent_loop.h"
#include "worker_agent/runtime/node_description.h"
#include "worker_agent/runtime/node_lock.h"
#include "worker_agent/runtime/own_scheduler.h"
#include "worker_agent/runtime/python_folder.h"
#include "worker_agent/session/farewell.h"

namespace muster::agent {
namespace {

constexpr size_t kKeeperProcesses = 6;  // guardian, keeper, the first shim, helpers
// A session's two, a peer list's, the store's, the stacks', MindSpore's port, and four for TLS. For each slot there
// must be room for a process, too.
constexpr size_t kOwnThreads = 10;
constexpr size_t kDescriptors = 40;     // a third of it for the keeper, until it has forked
constexpr size_t kOwnDescriptors = 24;  // of those, what is still to come once the node's lock is taken
constexpr size_t kSlotDescriptors = 4;  // two here, for its port; four of the keeper's, for its output, log and shim
constexpr absl::Duration kEndPatience = absl::Seconds(30);

int Fail(const absl::Status& status, int code = kExitUsage) {
  Log(LogLevel::kError, std::string(status.message()));
  return code;
}

// MindSpore's setting, of which this program takes no more than is good for it.
absl::Duration RequestTimeout(const AgentSettings& settings) {
  return std::min(settings.receive_msg_timeout, SessionOptions().request_timeout);
}

// What --check_config prints of the timeouts.
std::vector<LadderStep> Ladder(const AgentSettings& settings) {
  std::vector<LadderStep> steps = {
      {"stop_timeout", settings.stop_timeout, "between stop_signal and SIGKILL"},
      {"receive_msg_timeout", RequestTimeout(settings), "for the answer to a request"},
      {"cluster_retry_num x 3 s", settings.cluster_retry_num * absl::Seconds(3), "trying to reach the scheduler"}};
  if (settings.topo_timeout) {
    steps.push_back({"topo_timeout", *settings.topo_timeout, "until all nodes have joined"});
  }
  return steps;
}

absl::StatusOr<NodeLock> OpenNodeLock(const AgentSettings& settings,
                                      const std::map<std::string, std::string>& environment, const Signals& signals) {
  NodeLock::Options options;
  options.folder =
      settings.recovery_path.empty() ? UserStateFolder(environment, geteuid() == 0) : settings.recovery_path;
  if (options.folder.empty()) return absl::NotFoundError("no state folder");
  options.machine = NodeLock::MachineKey();
  options.job_id = settings.job_id;
  options.scheduler = JoinHostPort(settings.sched_host, settings.sched_port);
  options.node_id = settings.node_id;
  options.wake_fd = signals.fd();
  return NodeLock::Take(options);
}

absl::StatusOr<NodeLock> TakeNodeLock(const AgentSettings& settings,
                                      const std::map<std::string, std::string>& environment, const Signals& signals,
                                      Keeper& keeper) {
  absl::StatusOr<NodeLock> lock = OpenNodeLock(settings, environment, signals);
  if (lock.ok()) {
    if (absl::Status held = keeper.HoldLock(lock->fd()); !held.ok()) lock = std::move(held);
  }
  if (!lock.ok()) {
    Log(LogLevel::kWarning, absl::StrCat("no lock for this node, so it can't vouch for a former start of it: ",
                                         std::string(lock.status().message())));
  }
  return lock;
}

// For processes to stop, the scheduler to be told, the keeper and a scheduler of our own to end.
absl::Duration SignalPatience(const AgentSettings& settings) { return 2 * settings.stop_timeout + absl::Seconds(90); }

// Now, while nobody waits for this node yet.
absl::Status PrepareLogFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  const absl::StatusOr<UniqueFd> opened = OpenFolder(folder, {FolderTrust::kShared, /*makes_missing=*/true});
  if (opened.ok() && faccessat(opened->get(), ".", W_OK | X_OK, 0) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("log_dir: no files can be written in ", folder, ": ",
                   opened.ok() ? std::strerror(errno) : std::string(opened.status().message()),
                   "; correct --log_dir, or leave it out"));
}

// Before anything secret is read, and with the passwords out of memory: what is forked here gets no copy of either.
absl::StatusOr<std::unique_ptr<Keeper>> SpawnKeeper(const KeeperOptions& options, const AgentSettings& settings,
                                                    std::map<std::string, std::string>& environment) {
  absl::StatusOr<WithheldPasswords> withheld = WithheldPasswords::Take(environment);
  if (!withheld.ok()) return withheld.status();
  if (!settings.tls.config.empty()) ForbidCoreDumps();  // the keeper will hold a descriptor of the key
  absl::StatusOr<std::unique_ptr<Keeper>> keeper = Keeper::Spawn(options);
  if (absl::Status status = withheld->Return(environment); !status.ok()) return status;
  return keeper;
}

// Stands beside this program.
std::string RingProgram(const std::string& own_program) {
  return (std::filesystem::path(own_program).parent_path() / "ms-ring").string();
}

// Joins the job and stays with it. Before gRPC: the keeper is forked while this is the only thread.
int Work(AgentSettings settings, std::map<std::string, std::string>& environment) {
  const absl::Status room = CheckRoom({.tasks = kKeeperProcesses, .descriptors = kDescriptors});
  if (!room.ok()) return Fail(room);
  SetSignalPatience(SignalPatience(settings));
  Signals signals;
  absl::StatusOr<std::unique_ptr<Keeper>> keeper =
      SpawnKeeper({settings.stop_signal, settings.stop_timeout}, settings, environment);
  if (!keeper.ok()) return Fail(keeper.status());
  CountedLog counted(Clock::System());
  if (const absl::Status status = PrepareLogFolder(settings.log_dir); !status.ok()) return Fail(status);
  // Before keys and passwords are read, since a process is forked to look for what a former start has left; but not
  // before it is known which node this is, which the certificate may say.
  const bool does_certificate_name_it = settings.tls.is_on() && settings.node_id.empty();
  std::optional<absl::StatusOr<NodeLock>> taken;
  if (!does_certificate_name_it) taken.emplace(TakeNodeLock(settings, environment, signals, **keeper));
  const PasswordSource password = PasswordFrom(environment, TlsRole::kClient);
  const absl::StatusOr<std::unique_ptr<AgentTls>> tls = AgentTls::Open(settings, password, counted);
  if (!tls.ok()) return Fail(tls.status(), kExitSecurity);
  // A scheduler of our own takes its password from there.
  if (!settings.standalone && !settings.with_scheduler) WipePasswordVariables(environment);
  if (settings.standalone && !settings.worker_num) settings.worker_num = SlotCount(settings, environment);

  if (does_certificate_name_it) taken.emplace(TakeNodeLock(settings, environment, signals, **keeper));
  absl::StatusOr<NodeLock>& lock = *taken;
  RaiseDescriptorLimit();  // sockets and reserved ports of each slot; the keeper knows what the processes get
  const absl::Status slot_room =
      CheckRoom({.descriptors = kOwnDescriptors + kSlotDescriptors * SlotCount(settings, environment)});
  if (!slot_room.ok()) return Fail(slot_room);

  absl::StatusOr<std::unique_ptr<OwnScheduler>> scheduler =
      OwnScheduler::StartIfWanted(settings, WorkFolder::DefaultBase(environment));
  if (!scheduler.ok()) return Fail(scheduler.status());
  if (*scheduler != nullptr) {
    Keeper::Spare((*scheduler)->pid());
    if (const absl::Status status = (*scheduler)->WaitUntilItListens(settings); !status.ok()) return Fail(status);
  }
  WipePasswordVariables(environment);
  if (settings.standalone) {  // what was inherited is meant for another job
    environment.erase("MS_SCHED_HOST");
    environment.erase("MS_SCHED_PORT");
  }

  if (const absl::Status threads = StartGrpc(kOwnThreads + 2 * SlotCount(settings, environment)); !threads.ok()) {
    return Fail(threads);
  }
  absl::StatusOr<NodeDescription> node = DescribeNode(settings, environment);
  if (!node.ok()) return Fail(node.status());
  const uint64_t incarnation = NewIncarnation();
  // (Its name is seen by others; the incarnation is what tells this agent from a stranger where there is no TLS.)
  const auto folder = WorkFolder::Create(WorkFolder::DefaultBase(environment), settings.job_id, NewIncarnation());
  if (!folder.ok()) return Fail(folder.status());
  if (lock.ok()) lock->KeepFolder((*folder)->path());
  if (*tls != nullptr) {
    node->node.set_certificate_fingerprint((*tls)->store()->Current()->identity->leaf().Fingerprint());
  }
  Launcher launcher({settings, node->node, std::move(node->table_devices), environment, (*folder)->path(),
                     node->own_address, PythonFolder(OwnProgram()), RingProgram(OwnProgram()),
                     *tls == nullptr ? std::function<HandOver(const std::string&)>()
                                     : [&](const std::string& fingerprint) { return (*tls)->Pack(fingerprint); },
                     lock.ok() ? lock->secret() : ""});

  node->node.set_is_fence_guarded((*keeper)->is_guarded());
  AgentLoopOptions options;
  options.agent.job_id = settings.job_id;
  options.agent.node_id = settings.node_id;
  if (settings.node_id.empty() && lock.ok()) options.agent.kept_node_id = lock->kept_id();
  options.agent.incarnation = incarnation;
  options.agent.settings = node->settings;
  options.agent.node = node->node;
  if (lock.ok()) {
    options.agent.node.set_lock_token(lock->token());
    options.agent.node.set_lock_take(lock->take());
  }
  options.agent.retry_num = settings.cluster_retry_num;
  options.agent.stop_timeout = settings.stop_timeout;
  options.agent.scheduler = JoinHostPort(settings.sched_host, settings.sched_port);
  options.agent.wants_whole_peer_list = settings.mindspore_gateway == "on";  // MindSpore asks for all host names
  options.agent.has_command = !settings.command.empty();
  options.session.host = settings.sched_host;
  options.session.port = settings.sched_port;
  options.session.job_id = settings.job_id;
  options.session.security.requires_tls = settings.tls.require_tls;
  if (*tls != nullptr) {
    options.session.security.tls = (*tls)->store();
    options.hand_over = [&] { return (*tls)->Pack(); };
  }
  options.session.request_timeout = RequestTimeout(settings);
  options.program = OwnProgram();
  options.work_folder = (*folder)->path();
  if (const auto found = environment.find("PATH"); found != environment.end()) options.search_path = found->second;
  options.log_dir = settings.log_dir;
  options.on_welcome = [&](const std::string& id) {
    if (settings.node_id.empty() && lock.ok()) lock->Keep(id);
  };
  AgentLoop loop(std::move(options), *std::move(keeper), launcher, signals, Clock::Boot());
  if (!node->no_gateway.empty()) {
    Log(LogLevel::kInfo, absl::StrCat("MindSpore processes are told the scheduler's address: ", node->no_gateway));
  }
  MindSporeGateway gateway(
      {node->gateway_ports, *tls != nullptr ? (*tls)->store() : nullptr, [&] { return loop.store().HasRoom(); }},
      loop.store(), Clock::System());
  if (!node->gateway_ports.empty()) launcher.SetMindSporeGateway(&gateway);
  if (*tls != nullptr) {
    const absl::Status started =
        (*tls)->Start([&](bool has_new_certificate) { loop.NoteTlsChange(has_new_certificate); });
    if (!started.ok()) return Fail(started);
  }
  const int code = loop.Run();
  EndAtTheLatest(kEndPatience, code);
  if (*tls != nullptr) (*tls)->Stop();
  if (loop.HasOutcome() && lock.ok()) lock->Remove();
  // Other nodes still need the scheduler: to learn how the job ended, for which they may take stop_timeout; or to go on
  // without this node, which was drained.
  if (*scheduler != nullptr && (loop.HasOutcome() || loop.WasDrained())) {
    EndAtTheLatest(absl::InfiniteDuration(), code);
    if (!loop.HasOutcome()) Log(LogLevel::kInfo, "the scheduler of the job runs here, until the job has ended");
    (*scheduler)
        ->WaitForEnd(loop.HasOutcome() ? settings.stop_timeout + absl::Seconds(5) : absl::InfiniteDuration(),
                     [&] { return signals.TakeEnd(); });
    EndAtTheLatest(kEndPatience, code);
  }
  return code;
}

int Main(const std::vector<std::string>& args) {
  StopWatchingMutexOrder();
  AgentSettings settings;
  SettingsTable table = AgentSettingsTable(settings);
  std::map<std::string, std::string> environment = ProcessEnvironment();
  LoadResult loaded = LoadSettings(table, args, environment, true);
  if (loaded.wants_help) return std::fputs(HelpText(table).c_str(), stdout) < 0 ? kExitUsage : kExitSuccess;
  if (loaded.wants_version) return std::printf("ms-worker %s\n", kVersion) < 0 ? kExitUsage : kExitSuccess;
  settings.command = loaded.command;
  if (settings.role == "MS_SCHED") return BecomeScheduler(FlagsOf(args, loaded.command));

  SettingsFindings findings = loaded.findings;
  const SettingsFindings more = CheckAgentSettings(settings);
  findings.errors.insert(findings.errors.end(), more.errors.begin(), more.errors.end());
  findings.warnings.insert(findings.warnings.end(), more.warnings.begin(), more.warnings.end());
  for (const std::string& word : loaded.positional) {
    findings.errors.push_back(
        absl::StrCat("unexpected word ", EscapeControl(word), " before --; the command stands behind it"));
  }
  for (const std::string& error : findings.errors) std::fprintf(stderr, "ms-worker: %s\n", error.c_str());
  if (!findings.errors.empty()) return kExitUsage;
  if (settings.check_config) {
    for (const std::string& warning : findings.warnings) std::fprintf(stderr, "ms-worker: %s\n", warning.c_str());
    std::printf("%s\n%s", ShowSettings(table, loaded).c_str(), ShowLadder(Ladder(settings)).c_str());
    return kExitSuccess;
  }
  const absl::Status logging = InitLogging({"ms-worker", settings.log_format, settings.log_level, ""});
  if (!logging.ok()) return Fail(logging);
  QuietProtobuf();
  for (const std::string& warning : findings.warnings) Log(LogLevel::kWarning, warning);
  // With --per_job it runs on one node, which is not known yet; the others need not have it.
  if (const auto problem = CheckCommand(settings.command, settings.env, environment); problem && !settings.per_job) {
    return Fail(absl::InvalidArgumentError(problem->text), problem->exit_code);
  }
  return Work(std::move(settings), environment);
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  muster::BeginProgram("ms-worker");
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == muster::agent::kFarewellFlag) {
    muster::EndProgram(muster::agent::RunFarewell({args.begin() + 1, args.end()}));
  }
  muster::EndProgram(muster::agent::Main(args));
}
