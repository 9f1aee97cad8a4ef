// ms-scheduler: settings, logging, listeners, journal, core, loop, server; wait; drain.
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/mutex_checks.h"
#include "common/base/version.h"
#include "common/net/grpc_start.h"
#include "common/net/ip_address.h"
#include "common/net/service_manager.h"
#include "common/settings/given_values.h"
#include "common/settings/preamble.h"
#include "common/settings/settings.h"
#include "common/sys/log.h"
#include "common/sys/program.h"
#include "common/sys/room.h"
#include "scheduler/core/core.h"
#include "scheduler/core_options.h"
#include "scheduler/frontend/counters.h"
#include "scheduler/ingress/grpc/grpc_limits.h"
#include "scheduler/journal_choice.h"
#include "scheduler/listening.h"
#include "scheduler/loop/loop.h"
#include "scheduler/mindspore/direct_port.h"
#include "scheduler/notices/notice_runner.h"
#include "scheduler/once_end.h"
#include "scheduler/rpc/server.h"
#include "scheduler/scheduler_settings.h"
#include "scheduler/scheduler_tls.h"
#include "scheduler/stop_waiter.h"

namespace muster::scheduler {
namespace {

constexpr absl::Duration kDrainTime = absl::Seconds(5);  // for agents to take the last messages and hang up
// With TLS, this many connections per core may be in their handshake at once. A handshake takes milliseconds of
// processor time. If few run at once, each ends soon; the others wait for their turn, and no time limit applies yet.
constexpr size_t kPendingWithTls = 16;
// The most threads of this process: those of a gRPC server; 13 for loop, journal, acceptor, datagrams, sweeper,
// MindSpore's port, HTTP, notices and TLS (five); and the relay's, one for each core.
const size_t kThreads = GrpcServerThreads() + 13 + std::max(1u, std::thread::hardware_concurrency());
// The descriptors that are open without any client, and those of a few connections. With a small descriptor limit, the
// acceptor uses only half of it for connections (DescriptorsForConnections).
constexpr size_t kDescriptors = 60;
constexpr absl::Duration kShutdownGrace = absl::Seconds(2);  // for calls that are being answered

int Fail(const std::string& what, const absl::Status& status) {
  Log(Severity::kError, absl::StrCat(what, std::string(status.message())));
  return kExitUsage;
}

// Announces the end, answers open calls, and closes.
void Drain(int signal, const Journal& journal, Loop& loop, RpcServer& server, std::unique_ptr<http::Server> http) {
  if (signal != 0) {
    Log(Severity::kInfo, absl::StrCat("SIG", sigabbrev_np(signal), ": draining; a second signal ends at once"));
    server.StopServing();
    loop.Post(DrainRequested{.fails_runs = !journal.IsPersistent()});
  }
  const bool must_wait = signal == 0 || !journal.IsPersistent();
  if (must_wait) server.AwaitNoStreams(kDrainTime);
  http.reset();
  loop.Stop();  // first, because the loop informs agents of the shutdown once the record about it is durable
  server.Shutdown(kShutdownGrace);
}

// Opens the port for MindSpore processes without an agent. Returns null if --mindspore_port is not set.
absl::StatusOr<std::unique_ptr<DirectPort>> OpenDirectPort(const SchedulerSettings& settings,
                                                           const std::shared_ptr<const TlsStore>& tls,
                                                           CountedLog& counted, std::function<void(DirectEnd)> on_end,
                                                           const Clock& clock) {
  if (settings.mindspore_port == 0) return nullptr;
  const absl::StatusOr<BindPlan> plan = PlanAgentsPort(settings);
  if (!plan.ok()) return plan.status();
  DirectPort::Options options;
  options.cluster.worker_num = settings.worker_num.value_or(0);
  options.cluster.server_num = settings.server_num.value_or(0);
  options.cluster.enable_recovery = settings.enable_recovery.value_or(false);
  options.cluster.sorts_ranks = settings.hccl_cm_init.value_or(false);
  if (settings.topo_timeout) options.cluster.topo_timeout = *settings.topo_timeout;
  options.cluster.node_timeout = settings.node_timeout;
  options.cluster.rejoin_timeout = settings.rejoin_timeout.value_or(options.cluster.topo_timeout);
  options.cluster.is_once = settings.once;
  options.plan = *plan;
  options.port = settings.mindspore_port;
  options.tls = tls;
  options.counted = std::shared_ptr<CountedLog>(std::shared_ptr<CountedLog>(), &counted);  // outlives the port
  if (settings.once) options.on_end = std::move(on_end);
  if (settings.tls.require_tls) {
    options.plain_from = PlainFrom::kNone;
  } else if (tls != nullptr) {
    options.plain_from = PlainFrom::kThisMachine;
  }
  return DirectPort::Open(options, clock);
}

// Starts the runner of the --on_event command. Returns null if --on_event is not set. `server` and `rules` must outlive
// the runner.
absl::StatusOr<std::unique_ptr<NoticeRunner>> StartNotices(const SchedulerSettings& settings, RpcServer& server,
                                                           NoticeRules& rules, const Clock& clock,
                                                           CountedLog& counted) {
  if (settings.on_event.empty()) return nullptr;
  NoticeRunner::Options options;
  options.command = settings.on_event;
  options.look = [&rules, &server, &clock](bool is_last) {
    const int64_t now_unix_ms = clock.Read().wall.unix_ms;
    std::vector<Notice> notices = rules.TakeFolded(is_last ? INT64_MAX : now_unix_ms);
    const int64_t certificate_ends = CountersOf(server.services()).certificate_ends_unix_ms();
    if (std::optional<Notice> notice = rules.JudgeCertificate(certificate_ends, now_unix_ms)) {
      notices.push_back(*std::move(notice));
    }
    return notices;
  };
  return NoticeRunner::Start(std::move(options), clock, counted);
}

// Waits until the scheduler must end. Returns the result of StopWaiter::Wait.
int WaitForEnd(StopWaiter& stop, SchedulerTls& tls, const Loop& loop, const ServiceManager& manager,
               const std::string& status) {
  const auto notify_if_alive = [&] {
    manager.NotifyIfAlive(loop.measures().last_turn, Clock::System().Read().monotonic);
  };
  manager.Ready(status);
  const auto reload = [&] {
    manager.Reloading(Clock::System().Read().monotonic);
    const bool is_reloaded = tls.Reload();
    if (is_reloaded) manager.Ready(status);
    return is_reloaded;
  };
  const int signal = stop.Wait(reload, manager.interval(), notify_if_alive);
  manager.Stopping();
  return signal;
}

// Returns what the HTTP server uses. All of it must outlive the server.
http::SiteContext SiteOf(const RpcServer& server, Loop& loop, const std::atomic<bool>& is_draining,
                         std::string agents_at) {
  return {.services = server.services(),
          .loop = [&loop] { return loop.measures(); },
          .queue_length = [&loop] { return loop.QueueLength(); },
          .is_draining = [&is_draining] { return is_draining.load(); },
          .agents_at = std::move(agents_at)};
}

using Sources = std::map<std::string, std::string>;

int Serve(const SchedulerSettings& settings, const Sources& sources, const ServiceManager& manager) {
  const Clock& clock = Clock::System();
  CountedLog counted(clock);
  const absl::StatusOr<std::unique_ptr<SchedulerTls>> opened_tls = SchedulerTls::Open(settings.tls, clock, counted);
  if (!opened_tls.ok()) {
    Log(Severity::kError, std::string(opened_tls.status().message()));
    return kExitSecurity;
  }
  SchedulerTls& tls = **opened_tls;
  StopWaiter stop;  // handles signals from here on: the steps before may hang, and a signal must then end the process
  OnceEnd once(settings.once, settings.mindspore_port != 0, [&stop](int code) { stop.NoteSettled(code); });
  if (const absl::Status room = StartGrpc(kThreads); !room.ok()) return Fail("", room);
  absl::StatusOr<OpenPorts> ports = OpenListeners(settings);
  if (!ports.ok()) return Fail("", ports.status());
  const std::string names = ListenerNames(ports->listeners);
  const std::string admin_socket = AdminSocketOf(ports->listeners);
  const std::string own_address = ReachableAddress(ports->listeners);
  const uint16_t agents_port = ports->listeners.front().port;

  const absl::StatusOr<std::unique_ptr<Journal>> opened = OpenJournal(settings);
  if (!opened.ok()) return Fail("", opened.status());
  Journal& journal = **opened;
  RpcServer server({.listeners = std::move(ports->listeners),
                    .datagrams = std::move(ports->datagrams),
                    .descriptor_limit = DescriptorLimit(),
                    .memory_limit = ConnectionMemory(),
                    .pending_per_core = tls.is_on() ? kPendingWithTls : RpcServer::Options().pending_per_core,
                    .why_full = [&] { return WhyFull(journal); },
                    .tls_store = tls.store().get(),
                    .tls = tls.server()},
                   tls.authorizer(), clock, counted, [&once](const RunSettled& settled) { once.OnRun(settled); });
  CoreOptions options = MakeCoreOptions(settings, sources);
  options.own_address = own_address;
  options.max_nodes = std::min(DescriptorsForConnections(DescriptorLimit()) / kDescriptorsOfAConnection,
                               ConnectionMemory() / kMemoryOfANode);
  Core core(std::move(options), NewClusterId());
  NoticeRules rules;
  absl::StatusOr<std::unique_ptr<NoticeRunner>> notices = StartNotices(settings, server, rules, clock, counted);
  if (!notices.ok()) return Fail("", notices.status());
  NoticingSink sink(server.sink(), rules, *std::move(notices));
  Loop loop(core, journal, sink, clock, {});
  if (absl::Status status = loop.Start(); !status.ok()) {
    return Fail(absl::IsResourceExhausted(status) ? "" : "the journal can't be read: ", status);
  }
  // Open this port before agents are accepted, so that no job has begun if this fails.
  const absl::StatusOr<std::unique_ptr<DirectPort>> direct = OpenDirectPort(
      settings, tls.store(), counted, [&once](DirectEnd end) { once.OnDirect(end); }, clock);
  if (!direct.ok()) return Fail("", direct.status());
  const absl::Status started = server.Start(
      [&loop](Event event, std::function<void()> applied) { return loop.Post(std::move(event), std::move(applied)); });
  if (!started.ok()) return Fail("", started);

  if (const std::string found = RecoveryText(journal, loop.recovered()); !found.empty()) Log(Severity::kInfo, found);
  Log(Severity::kInfo, absl::StrCat("listening on ", names, " (version ", kVersion, ", journal: ", journal.Describe(),
                                    admin_socket.empty() ? "" : absl::StrCat(", admin socket: ", admin_socket), ")"));
  if (const absl::Status watching = tls.Watch([&server] { server.CheckPeers(); }); !watching.ok()) {
    return Fail("", watching);
  }

  std::atomic<bool> is_draining = false;
  absl::StatusOr<std::unique_ptr<http::Server>> http =
      OpenHttp(settings, agents_port, tls.store(),
               SiteOf(server, loop, is_draining, JoinHostPort(settings.sched_host, agents_port)));
  if (!http.ok()) return Fail("", http.status());

  const int signal = WaitForEnd(stop, tls, loop, manager, absl::StrCat("listening on ", names));
  // With --once, a job that has not ended by now counts as failed.
  const auto code = [&] { return settings.once ? stop.settled().value_or(kExitJobFailed) : kExitSuccess; };
  EndAtTheLatest(StopWaiter::kSignalPatience, stop.settled().value_or(kExitJobFailed));
  tls.Stop();
  stop.LetSignalsKill();
  is_draining = true;
  Drain(signal, journal, loop, server, *std::move(http));
  sink.EndNotices();
  RemoveSocket(admin_socket);
  Log(Severity::kInfo, absl::StrCat("ended with ", code()));
  return code();
}

int Main(const std::vector<std::string>& args) {
  BeginProgram("ms-scheduler");
  StopWatchingMutexOrder();
  AllowSmallReadBuffers();
  signal(SIGPIPE, SIG_IGN);
  const ServiceManager manager = ServiceManager::Take();
  SchedulerSettings settings;
  SettingsTable table = SchedulerSettingsTable(settings);
  const LoadResult loaded = LoadSettings(table, args, OwnEnvironment());
  if (const auto code = AnswerAtOnce(table, loaded)) return *code;
  const Settled settled = Settle(table, loaded,
                                 {.more = CheckSchedulerSettings(settings),
                                  .word_rule = ": ms-scheduler takes settings only (--help)",
                                  .only_checks = settings.check_config,
                                  .timeouts = [&] { return SchedulerTimeouts(settings); }});
  if (settled.exit_code) return *settled.exit_code;
  const absl::Status logging =
      InitLogging({"ms-scheduler", settings.log_format, settings.log_level, settings.log_file});
  if (!logging.ok()) return Fail("", logging);
  for (const std::string& warning : settled.warnings) Log(Severity::kWarning, warning);
  RaiseDescriptorLimit();
  const absl::Status room = CheckRoom({.tasks = kThreads, .descriptors = kDescriptors});
  if (!room.ok()) return Fail("", room);
  return Serve(settings, loaded.sources, manager);
}

}  // namespace
}  // namespace muster::scheduler

int main(int argc, char** argv) {
  muster::EndProgram(muster::scheduler::Main(std::vector<std::string>(argv + 1, argv + argc)));
}
