// Every command is a row of the table at the end, with its handler. What is in no row is refused; there is no handler
// for "all the rest". These change something, and no others:
//
//   stop, restart, fence, drain, undrain    over the scheduler's Unix socket, or with an admin's certificate
#include "ctl/commands.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/exit_codes.h"
#include "common/grpc_start.h"
#include "common/id_rule.h"
#include "common/ip_address.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/net.h"
#include "common/number_list.h"
#include "common/runtime_paths.h"
#include "common/text.h"
#include "common/tls/tls_store.h"
#include "common/tls_grpc/client_tls.h"
#include "ctl/admin_client.h"
#include "ctl/certs/certs_program.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/choose.h"
#include "ctl/completion.h"
#include "ctl/journal_command.h"
#include "ctl/json.h"
#include "ctl/render.h"
#include "ctl/watch.h"
#include "ctl/words.h"

namespace muster::ctl {
namespace {

constexpr size_t kOwnThreads = 4;                             // of watch, with TLS
constexpr absl::Duration kStacksTimeout = absl::Seconds(12);  // the scheduler answers within 10

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "ms-ctl: %s\n", EscapeControl(std::string(status.message())).c_str());
  if (absl::IsUnauthenticated(status)) return kExitSecurity;
  return absl::IsUnavailable(status) ? kExitUnreachable : kExitJobFailed;
}

int Usage(const std::string& text) {
  std::fprintf(stderr, "ms-ctl: %s\n", EscapeControl(text).c_str());
  return kExitUsage;
}

int Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0) return kExitSuccess;
  std::perror("ms-ctl: can't write");
  return kExitJobFailed;
}

AdminSocket SocketOf(const CtlSettings& settings) {
  if (settings.admin_socket.empty()) return {DefaultAdminSocket(settings.sched_port), /*is_named=*/false};
  return {settings.admin_socket, /*is_named=*/true};
}

// The status of the jobs that the user asked for; an unknown job is an error that names those there are.
absl::StatusOr<v1::StatusReply> AskStatus(AdminClient& client, const CtlSettings& settings) {
  absl::StatusOr<v1::StatusReply> reply = client.GetStatus(settings.job_id, settings.run);
  const bool is_unknown =
      absl::IsNotFound(reply.status()) || (reply.ok() && reply->runs().empty() && !settings.job_id.empty());
  if (!is_unknown || settings.job_id.empty()) return reply;
  const absl::StatusOr<v1::StatusReply> all = client.GetStatus("", 0);
  if (!all.ok()) return all.status();
  return absl::NotFoundError(absl::StrCat("this scheduler knows no job '", settings.job_id, "'",
                                          settings.run > 0 ? absl::StrCat(" with a run ", settings.run) : "",
                                          "; its jobs: ", JobNames(*all)));
}

int Status(Call& call) {
  const CtlSettings& settings = call.settings;
  const absl::StatusOr<v1::StatusReply> reply = AskStatus(*call.client, settings);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StatusJson(*reply));
  return Print(RenderStatus(*reply, JoinHostPort(settings.sched_host, settings.sched_port), absl::LocalTimeZone()));
}

// The listing of each job that the user asked for.
template <typename Reply>
absl::StatusOr<std::vector<OfJob<Reply>>> ForEachJob(
    AdminClient& client, const CtlSettings& settings,
    absl::StatusOr<Reply> (AdminClient::*list)(const std::string& job_id, uint64_t run)) {
  const absl::StatusOr<v1::StatusReply> status = AskStatus(client, settings);
  if (!status.ok()) return status.status();
  std::vector<OfJob<Reply>> jobs;
  for (const v1::RunStatus& run : status->runs()) {
    absl::StatusOr<Reply> reply = (client.*list)(run.job_id(), run.run());
    if (!reply.ok()) return reply.status();
    jobs.push_back({run.job_id(), *std::move(reply)});
  }
  return jobs;
}

int Nodes(Call& call) {
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListNodes);
  if (!jobs.ok()) return Complain(jobs.status());
  return Print(call.settings.json ? NodesJson(*jobs) : RenderNodes(*jobs));
}

int Ranks(Call& call) {
  const auto jobs = ForEachJob(*call.client, call.settings, &AdminClient::ListRanks);
  if (!jobs.ok()) return Complain(jobs.status());
  return Print(call.settings.json ? RanksJson(*jobs) : RenderRanks(*jobs));
}

int Events(Call& call) {
  const CtlSettings& settings = call.settings;
  if (!settings.job_id.empty()) {
    const absl::StatusOr<v1::StatusReply> known = AskStatus(*call.client, settings);
    if (!known.ok()) return Complain(known.status());
  }
  const absl::StatusOr<v1::EventsReply> all = call.client->ListEvents(settings.job_id, 0);
  if (!all.ok()) return Complain(all.status());
  v1::EventsReply shown;
  for (const v1::StoryEvent& event : all->events()) {
    if (settings.run == 0 || event.run() == settings.run) *shown.add_events() = event;
  }
  return Print(settings.json ? EventsJson(shown) : RenderEvents(shown, absl::LocalTimeZone()));
}

// TLS as it is configured; null without. What stays between the calls of one ms-ctl.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenTls(const CtlSettings& settings) {
  static CountedLog counted(Clock::System());
  std::map<std::string, std::string> environment = ProcessEnvironment();
  const PasswordSource password = PasswordFrom(environment, TlsRole::kClient);
  WipePasswordVariables(environment);
  return OpenClientTls(settings.tls, password, settings.sched_host, counted);
}

Security SecurityOf(const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls) {
  return {tls, settings.tls.require_tls};
}

struct Steered {
  std::string job_id;
  std::unique_ptr<AdminClient> client;
};

// The socket is found by the scheduler's port alone: is it the one that --sched_host names?
absl::Status CheckSameScheduler(Call& call, AdminClient& behind_socket) {
  const CtlSettings& settings = call.settings;
  if (!settings.admin_socket.empty()) return absl::OkStatus();  // the user says so
  const std::string name = JoinHostPort(settings.sched_host, settings.sched_port);
  const absl::StatusOr<v1::StatusReply> named = call.client->GetStatus("", 0);
  if (!named.ok()) {
    return absl::Status(named.status().code(),
                        absl::StrCat(named.status().message(), " (--admin_socket names a scheduler's socket)"));
  }
  const absl::StatusOr<v1::StatusReply> reached = behind_socket.GetStatus("", 0);
  if (!reached.ok()) return reached.status();
  if (named->cluster_id() == reached->cluster_id()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the scheduler at ", name, " is not the one behind the socket ",
                                                    SocketOf(settings).path, ": name its socket with --admin_socket"));
}

// The job that a changing call is for: named, or the only one that has not ended. And the way to say it: an admin's
// certificate, else the scheduler's Unix socket.
absl::StatusOr<Steered> ChooseSteered(Call& call, const std::string& job_argument, const std::string& verb,
                                      absl::Duration timeout) {
  const CtlSettings& settings = call.settings;
  const std::shared_ptr<const TlsStore> tls = call.tls;
  Steered steered;
  steered.job_id = job_argument.empty() ? settings.job_id : job_argument;
  if (steered.job_id.empty()) {
    const absl::StatusOr<v1::StatusReply> status = call.client->GetStatus("", 0);
    if (!status.ok()) return status.status();
    const absl::StatusOr<std::optional<v1::RunStatus>> chosen = ChooseRun(*status, /*takes_ended=*/false);
    if (!chosen.ok()) return chosen.status();
    if (!chosen->has_value()) return absl::NotFoundError(absl::StrCat("there is no job to ", verb));
    steered.job_id = (*chosen)->job_id();
  }
  if (tls != nullptr && settings.admin_socket.empty() && tls->Current()->own_name.has_value() &&
      tls->Current()->own_name->kind == PeerName::Kind::kAdmin) {
    auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, timeout, SecurityOf(settings, tls), {},
                                       steered.job_id);
    if (!client.ok()) return client.status();
    steered.client = *std::move(client);
    return steered;
  }
  absl::StatusOr<std::unique_ptr<AdminClient>> client = AdminClient::OverSocket(SocketOf(settings), timeout);
  if (!client.ok()) return client.status();
  if (absl::Status same = CheckSameScheduler(call, **client); !same.ok()) return same;
  steered.client = *std::move(client);
  return steered;
}

std::string ThisUser() { return absl::StrCat(LocalUserName(), "@", LocalHostName()); }

int Stop(Call& call) {
  const CtlSettings& settings = call.settings;
  const absl::StatusOr<Steered> steered = ChooseSteered(call, call.argument, "stop", settings.timeout);
  if (!steered.ok()) return Complain(steered.status());
  v1::StopRequest request;
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  request.set_reason(settings.reason.empty() ? "ms-ctl stop" : settings.reason);
  request.set_user(ThisUser());
  const absl::StatusOr<v1::StopReply> reply = steered->client->StopRun(request);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StopJson(steered->job_id, *reply));
  if (HasEnded(reply->phase())) {
    return Print(absl::StrCat("job ", steered->job_id, ", run ", reply->run(), " had already ended (",
                              PhaseWord(reply->phase()), ")\n"));
  }
  return Print(absl::StrCat("job ", steered->job_id, ", run ", reply->run(), " (", PhaseWord(reply->phase()),
                            ") is being stopped\n"));
}

// The argument is the job for a restart, else the node.
template <v1::SteerRequest::Action action>
int Steer(Call& call) {
  const CtlSettings& settings = call.settings;
  const std::string& verb = call.command.name;
  const bool is_about_node = action != v1::SteerRequest::RESTART;
  if (is_about_node && call.argument.empty()) {
    return Usage(absl::StrCat(verb, ": name the node: ms-ctl ", verb, " NODE"));
  }
  const absl::StatusOr<Steered> steered =
      ChooseSteered(call, is_about_node ? "" : call.argument, is_about_node ? absl::StrCat(verb, " a node of") : verb,
                    settings.timeout);
  if (!steered.ok()) return Complain(steered.status());
  v1::SteerRequest request;
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  request.set_action(action);
  if (is_about_node) request.set_node_id(call.argument);
  request.set_reason(settings.reason);
  request.set_user(ThisUser());
  const absl::StatusOr<v1::SteerReply> reply = steered->client->SteerRun(request);
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? SteerJson(steered->job_id, *reply) : absl::StrCat(EscapeControl(reply->text()), "\n"));
}

int Why(Call& call) {
  CtlSettings settings = call.settings;
  if (!call.argument.empty()) settings.job_id = call.argument;
  const absl::StatusOr<v1::StatusReply> reply = AskStatus(*call.client, settings);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StatusJson(*reply));
  std::string out;
  for (const v1::RunStatus& run : reply->runs()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", RenderWhy(run, absl::LocalTimeZone()));
  }
  return Print(out.empty() ? "no job yet\n" : out);
}

int Stacks(Call& call) {
  const CtlSettings& settings = call.settings;
  const std::string& ranks = call.argument;
  v1::StacksRequest request;
  if (!ranks.empty()) {
    const auto ranges = ParseNumberRanges(ranks, kMaxWorkers);
    if (!ranges.ok()) {
      return Usage(absl::StrCat("stacks: '", ranks, "' ", std::string(ranges.status().message()),
                                "; expected ranks such as 0,3-5"));
    }
    for (const auto& [first, last] : *ranges) {
      for (uint32_t rank = first; rank <= last && static_cast<size_t>(request.ranks_size()) <= kMaxStackRanks; ++rank) {
        request.add_ranks(rank);
      }
    }
  }
  const absl::StatusOr<Steered> steered =
      ChooseSteered(call, "", "look at", std::max(settings.timeout, kStacksTimeout));
  if (!steered.ok()) return Complain(steered.status());
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  const absl::StatusOr<v1::StacksReply> reply = steered->client->GetStacks(request);
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? StacksJson(steered->job_id, *reply) : RenderStacks(*reply));
}

// A watch outlives its certificate and the lists of its start.
int WatchFollowingTls(Call& call) {
  if (call.tls != nullptr) {  // the client looks at each call
    if (const absl::Status started = call.tls->Start([] {}); !started.ok()) return Complain(started);
  }
  const int code = Watch(*call.client, call.settings);
  if (call.tls != nullptr) call.tls->Stop();  // its thread logs, which must not outlive main
  return code;
}

int Counters(Call& call) {
  const absl::StatusOr<v1::CountersReply> reply = call.client->GetCounters();
  if (!reply.ok()) return Complain(reply.status());
  return Print(call.settings.json ? CountersJson(*reply) : RenderCounters(*reply, absl::LocalTimeZone()));
}

std::vector<std::string> FlagsOf(const SettingsTable& table) {
  std::vector<std::string> flags = {"--help", "--version", "--config"};
  for (const Setting& setting : table.settings()) {
    if (!setting.is_hidden) flags.push_back("--" + setting.flag);
  }
  return flags;
}

// For TAB, asked for by the script itself: quick, and silent about errors. Bash carries out what stands in a list of
// words, $(…) as well: whatever answers at that port, only what may be an id is handed on.
int CompleteFromScheduler(Call& call, bool wants_nodes) {
  const CtlSettings& settings = call.settings;
  const auto tls = OpenTls(settings);
  if (!tls.ok()) return kExitSecurity;
  const auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, absl::Seconds(1),
                                           SecurityOf(settings, *tls), {}, wants_nodes ? settings.job_id : "");
  if (!client.ok()) return kExitUnreachable;
  std::string names;
  const auto add = [&names](const std::string& id) {
    if (IsId(id)) absl::StrAppend(&names, id, "\n");
  };
  if (wants_nodes) {
    const auto jobs = ForEachJob(**client, settings, &AdminClient::ListNodes);
    if (!jobs.ok()) return kExitUnreachable;
    for (const NodesOfJob& job : *jobs) {
      for (const v1::NodeStatus& node : job.reply.nodes()) add(node.node_id());
    }
  } else {
    const absl::StatusOr<v1::StatusReply> reply = (*client)->GetStatus("", 0);
    if (!reply.ok()) return kExitUnreachable;
    for (const v1::RunStatus& run : reply->runs()) add(run.job_id());
  }
  return Print(names);
}

int Completion(Call& call) {
  if (call.argument == "jobs" || call.argument == "nodes") return CompleteFromScheduler(call, call.argument == "nodes");
  if (call.argument != "bash") return Usage("completion: name the shell: ms-ctl completion bash (only bash is known)");
  CompletionWords offered;
  for (const Command& command : Commands()) offered.commands.push_back(command.name);
  offered.flags = FlagsOf(call.table);
  certs::CertsSettings certs_settings;
  offered.certs_flags = FlagsOf(certs::CertsSettingsTable(certs_settings));
  for (const certs::CertsCommand& command : certs::CertsCommands()) offered.certs_commands.push_back(command.name);
  return Print(BashCompletion(offered));
}

// main knows `certs` only where it comes first: other words before it are read by the settings of these commands.
int Journal(Call& call) { return RunJournal(call.words, call.settings.json); }

int CertsTooLate(Call&) {
  return Usage(
      "certs: it has settings of its own and knows no scheduler: write it first, as in ms-ctl certs list --dir FOLDER");
}

// The job that the scheduler must be trusted with; empty when the command is about all jobs.
std::string JobOf(const Call& call) {
  return !call.argument.empty() && call.command.argument == "[JOB]" ? call.argument : call.settings.job_id;
}

// Opens the way to the scheduler of the call, which is trusted with `job`.
int AskTrustedWith(const std::string& job, Call& call, int (*answer)(Call&)) {
  const CtlSettings& settings = call.settings;
  absl::StatusOr<std::shared_ptr<TlsStore>> tls = OpenTls(settings);
  if (!tls.ok()) {
    Complain(tls.status());
    return kExitSecurity;
  }
  if (const absl::Status threads = StartGrpc(kOwnThreads); !threads.ok()) return Complain(threads);
  call.tls = *std::move(tls);
  const SocketFallback fallback{SocketOf(settings), [&settings](const std::string& why) {
                                  std::fprintf(stderr, "ms-ctl: %s: %s; asked over the socket %s instead\n",
                                               JoinHostPort(settings.sched_host, settings.sched_port).c_str(),
                                               EscapeControl(why).c_str(), SocketOf(settings).path.c_str());
                                }};
  auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, settings.timeout,
                                     SecurityOf(settings, call.tls), fallback, job);
  if (!client.ok()) return Complain(client.status());
  call.client = *std::move(client);
  return answer(call);
}

// Handlers that ask the scheduler first: about a job; about all jobs unless one is named; about the scheduler itself.
template <int (*answer)(Call&)>
int Ask(Call& call) {
  return AskTrustedWith(JobOf(call), call, answer);
}

template <int (*answer)(Call&)>
int AskForAll(Call& call) {
  if (call.settings.run > 0 && call.settings.job_id.empty()) {
    return Usage("--run says which run of a job: name the job too, with --job ID");
  }
  return Ask<answer>(call);
}

template <int (*answer)(Call&)>
int AskOfScheduler(Call& call) {
  return AskTrustedWith("", call, answer);
}

const Command* FindCommand(const std::string& name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

// What is wrong with the words behind a command; empty if nothing is.
std::string CheckWords(const Command& command, const std::vector<std::string>& words, const CtlSettings& settings) {
  // As a variable that is not set gives it. It must not stand for all or the only one.
  if (std::count(words.begin(), words.end(), "") > 0) {
    return absl::StrCat("'", command.name, "': an empty word names nothing; leave it out");
  }
  if (settings.is_job_on_line && settings.job_id.empty()) return "--job is empty: name the job, or leave it out";
  if (words.size() > 1 && command.argument == "[JOB]" && settings.is_job_on_line && settings.job_id != words[1]) {
    return absl::StrCat("'", command.name, " ", words[1], "' and --job ", settings.job_id, " name two jobs: name one");
  }
  const auto blanks = static_cast<size_t>(std::count(command.argument.begin(), command.argument.end(), ' '));
  const size_t most = command.argument.empty() ? 0 : 1 + blanks;
  if (words.size() <= 1 + most) return "";
  if (most == 0) {
    return absl::StrCat("'", command.name, "' takes no argument, but '", words[1], "' was given; for one job: --job ",
                        words[1]);
  }
  return absl::StrCat("'", command.name, "' takes ", most == 1 ? "one argument" : absl::StrCat(most, " arguments"),
                      ", but there is also '", words[1 + most], "'");
}

std::string UnknownCommand(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.push_back(command.name);
  const std::string meant = NearMiss(word, names);
  return absl::StrCat("unknown command '", word, "'",
                      meant.empty() ? ";" : absl::StrCat("; did you mean '", meant, "'?"),
                      " `ms-ctl --help` lists all");
}

}  // namespace

const std::vector<Command>& Commands() {
  using Steering = v1::SteerRequest;
  static const auto* const commands = new std::vector<Command>{
      {"status", "", "each job's phase, round, who is missing, and why it ended", AskForAll<Status>},
      {"nodes", "", "the agents of a job, when each was last seen, and its ranks", AskForAll<Nodes>},
      {"ranks", "", "who has which rank, with address, device and process", AskForAll<Ranks>},
      {"events", "", "the story so far, with wall times", AskForAll<Events>},
      {"stacks", "[RANKS]", "where processes stand: the slowest ones, or those of ranks such as 0,3-5", Ask<Stacks>},
      {"why", "[JOB]", "what a job waits for or failed of, with the last lines and what to do", Ask<Why>},
      {"watch", "", "status and events live, until the job ends (exit code 0 or 1)", AskForAll<WatchFollowingTls>},
      {"counters", "", "how often what was refused and why, and how long certificates last", AskOfScheduler<Counters>},
      {"stop", "[JOB]", "ends a job: its processes are stopped, its agents end", Ask<Stop>},
      {"restart", "[JOB]", "starts all processes of a job again, in a new round with the same ranks",
       Ask<Steer<Steering::RESTART>>},
      {"fence", "NODE", "vouches that a lost node's processes have ended, so that its ranks may start elsewhere",
       Ask<Steer<Steering::FENCE>>},
      {"drain", "NODE", "has a node leave the job where the round ends; a spare or a later start takes its place",
       Ask<Steer<Steering::DRAIN>>},
      {"undrain", "NODE", "lets a node stay after all", Ask<Steer<Steering::UNDRAIN>>},
      {"certs", "COMMAND", "the certificates of a cluster: init, scheduler, node, …; `ms-ctl certs --help` explains",
       CertsTooLate},
      {"journal", "show|verify FILE",
       "what a scheduler's journal holds, and whether it is sound; no scheduler is asked", Journal},
      {"completion", "bash", "prints a completion script: source <(ms-ctl completion bash)", Completion},
  };
  return *commands;
}

int RunCommand(const std::vector<std::string>& words, const CtlSettings& settings, const SettingsTable& table) {
  const Command* command = FindCommand(words[0]);
  if (command == nullptr) return Usage(UnknownCommand(words[0]));
  if (const std::string wrong = CheckWords(*command, words, settings); !wrong.empty()) return Usage(wrong);
  Call call{settings, table,  *command, words.size() > 1 ? words[1] : "", {words.begin() + 1, words.end()},
            nullptr,  nullptr};
  return command->run(call);
}

}  // namespace muster::ctl
