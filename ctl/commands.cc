#include "ctl/commands.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/exit_codes.h"
#include "common/ip_address.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/net.h"
#include "common/number_list.h"
#include "common/runtime_paths.h"
#include "common/tls/tls_store.h"
#include "common/tls_grpc/client_tls.h"
#include "ctl/admin_client.h"
#include "ctl/certs/certs_settings.h"
#include "ctl/choose.h"
#include "ctl/completion.h"
#include "ctl/json.h"
#include "ctl/render.h"
#include "ctl/watch.h"
#include "ctl/words.h"

namespace muster::ctl {
namespace {

constexpr absl::Duration kStacksTimeout = absl::Seconds(12);  // the scheduler answers within 10

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "ms-ctl: %s\n", std::string(status.message()).c_str());
  if (absl::IsUnauthenticated(status)) return kExitSecurity;
  return absl::IsUnavailable(status) ? kExitUnreachable : kExitJobFailed;
}

int Usage(const std::string& text) {
  std::fprintf(stderr, "ms-ctl: %s\n", text.c_str());
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

int Status(AdminClient& client, const CtlSettings& settings) {
  const absl::StatusOr<v1::StatusReply> reply = AskStatus(client, settings);
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

int Nodes(AdminClient& client, const CtlSettings& settings) {
  const auto jobs = ForEachJob(client, settings, &AdminClient::ListNodes);
  if (!jobs.ok()) return Complain(jobs.status());
  return Print(settings.json ? NodesJson(*jobs) : RenderNodes(*jobs));
}

int Ranks(AdminClient& client, const CtlSettings& settings) {
  const auto jobs = ForEachJob(client, settings, &AdminClient::ListRanks);
  if (!jobs.ok()) return Complain(jobs.status());
  return Print(settings.json ? RanksJson(*jobs) : RenderRanks(*jobs));
}

int Events(AdminClient& client, const CtlSettings& settings) {
  if (!settings.job_id.empty()) {
    const absl::StatusOr<v1::StatusReply> known = AskStatus(client, settings);
    if (!known.ok()) return Complain(known.status());
  }
  const absl::StatusOr<v1::EventsReply> all = client.ListEvents(settings.job_id, 0);
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

// The job that a changing call is for: named, or the only one that has not ended. And the way to say it: an admin's
// certificate, else the scheduler's Unix socket.
absl::StatusOr<Steered> ChooseSteered(AdminClient& reader, const CtlSettings& settings, const std::string& job_argument,
                                      const std::string& verb, absl::Duration timeout,
                                      const std::shared_ptr<const TlsStore>& tls) {
  Steered steered;
  steered.job_id = job_argument.empty() ? settings.job_id : job_argument;
  if (steered.job_id.empty()) {
    const absl::StatusOr<v1::StatusReply> status = reader.GetStatus("", 0);
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
  steered.client = *std::move(client);
  return steered;
}

std::string ThisUser() { return absl::StrCat(LocalUserName(), "@", LocalHostName()); }

int Stop(AdminClient& reader, const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls,
         const std::string& job_argument) {
  const absl::StatusOr<Steered> steered = ChooseSteered(reader, settings, job_argument, "stop", settings.timeout, tls);
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

// `argument` is the job for a restart, else the node.
int Steer(AdminClient& reader, const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls,
          v1::SteerRequest::Action action, const std::string& verb, const std::string& argument) {
  const bool is_about_node = action != v1::SteerRequest::RESTART;
  if (is_about_node && argument.empty()) return Usage(absl::StrCat(verb, ": name the node: ms-ctl ", verb, " NODE"));
  const absl::StatusOr<Steered> steered =
      ChooseSteered(reader, settings, is_about_node ? "" : argument,
                    is_about_node ? absl::StrCat(verb, " a node of") : verb, settings.timeout, tls);
  if (!steered.ok()) return Complain(steered.status());
  v1::SteerRequest request;
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  request.set_action(action);
  if (is_about_node) request.set_node_id(argument);
  request.set_reason(settings.reason);
  request.set_user(ThisUser());
  const absl::StatusOr<v1::SteerReply> reply = steered->client->SteerRun(request);
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? SteerJson(steered->job_id, *reply) : absl::StrCat(reply->text(), "\n"));
}

int Why(AdminClient& client, CtlSettings settings, const std::string& job_argument) {
  if (!job_argument.empty()) settings.job_id = job_argument;
  const absl::StatusOr<v1::StatusReply> reply = AskStatus(client, settings);
  if (!reply.ok()) return Complain(reply.status());
  if (settings.json) return Print(StatusJson(*reply));
  std::string out;
  for (const v1::RunStatus& run : reply->runs()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", RenderWhy(run, absl::LocalTimeZone()));
  }
  return Print(out.empty() ? "no job yet\n" : out);
}

int Stacks(AdminClient& reader, const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls,
           const std::string& ranks) {
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
      ChooseSteered(reader, settings, "", "look at", std::max(settings.timeout, kStacksTimeout), tls);
  if (!steered.ok()) return Complain(steered.status());
  request.set_job_id(steered->job_id);
  request.set_run(settings.run);
  const absl::StatusOr<v1::StacksReply> reply = steered->client->GetStacks(request);
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? StacksJson(steered->job_id, *reply) : RenderStacks(*reply));
}

// For TAB: quick, and silent about errors.
int CompleteNodes(const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls) {
  const auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, absl::Seconds(1),
                                           SecurityOf(settings, tls), {}, settings.job_id);
  if (!client.ok()) return kExitUnreachable;
  const auto jobs = ForEachJob(**client, settings, &AdminClient::ListNodes);
  if (!jobs.ok()) return kExitUnreachable;
  std::string names;
  for (const NodesOfJob& job : *jobs) {
    for (const v1::NodeStatus& node : job.reply.nodes()) absl::StrAppend(&names, node.node_id(), "\n");
  }
  return Print(names);
}

// A watch outlives its certificate and the lists of its start.
int WatchFollowingTls(AdminClient& client, const CtlSettings& settings, TlsStore* tls) {
  if (tls != nullptr) tls->Start([] {});  // the client looks at each call
  const int code = Watch(client, settings);
  if (tls != nullptr) tls->Stop();  // its thread logs, which must not outlive main
  return code;
}

std::vector<std::string> FlagsOf(const SettingsTable& table) {
  std::vector<std::string> flags = {"--help", "--version", "--config"};
  for (const Setting& setting : table.settings()) {
    if (!setting.is_hidden) flags.push_back("--" + setting.flag);
  }
  return flags;
}

int Counters(AdminClient& client, const CtlSettings& settings) {
  const absl::StatusOr<v1::CountersReply> reply = client.GetCounters();
  if (!reply.ok()) return Complain(reply.status());
  return Print(settings.json ? CountersJson(*reply) : RenderCounters(*reply, absl::LocalTimeZone()));
}

int Completion(const std::vector<std::string>& words, const CtlSettings& settings, const SettingsTable& table,
               const std::shared_ptr<const TlsStore>& tls) {
  const std::string what = words.size() > 1 ? words[1] : "";
  if (what == "jobs") {  // asked for by the script itself, on each TAB: quick, and silent about errors
    const auto client =
        AdminClient::OverTcp(settings.sched_host, settings.sched_port, absl::Seconds(1), SecurityOf(settings, tls));
    if (!client.ok()) return kExitUnreachable;
    const absl::StatusOr<v1::StatusReply> reply = (*client)->GetStatus("", 0);
    if (!reply.ok()) return kExitUnreachable;
    std::string names;
    for (const v1::RunStatus& run : reply->runs()) absl::StrAppend(&names, run.job_id(), "\n");
    return Print(names);
  }
  if (what == "nodes") return CompleteNodes(settings, tls);
  if (what != "bash") return Usage("completion: name the shell: ms-ctl completion bash (only bash is known)");
  CompletionWords offered;
  offered.flags = FlagsOf(table);
  certs::CertsSettings certs_settings;
  offered.certs_flags = FlagsOf(certs::CertsSettingsTable(certs_settings));
  for (const certs::CertsCommand& command : certs::CertsCommands()) offered.certs_commands.push_back(command.name);
  return Print(BashCompletion(offered));
}

// The job that the scheduler must be trusted with; empty when the command is about all jobs, or about the scheduler.
std::string JobOf(const std::vector<std::string>& words, const CtlSettings& settings) {
  if (words[0] == "counters") return "";
  const auto is_this = [&](const Command& command) { return command.name == words[0]; };
  const auto command = std::find_if(Commands().begin(), Commands().end(), is_this);
  return words.size() > 1 && command->argument == "[JOB]" ? words[1] : settings.job_id;
}

// What is wrong with the words; empty if nothing is.
std::string CheckWords(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  const Command* found = nullptr;
  for (const Command& command : Commands()) {
    names.push_back(command.name);
    if (command.name == words[0]) found = &command;
  }
  if (found == nullptr) {
    const std::string meant = NearMiss(words[0], names);
    return absl::StrCat("unknown command '", words[0], "'",
                        meant.empty() ? ";" : absl::StrCat("; did you mean '", meant, "'?"),
                        " `ms-ctl --help` lists all");
  }
  const size_t most = found->argument.empty() ? 1 : 2;
  if (words.size() <= most) return "";
  if (most == 1) {
    return absl::StrCat("'", found->name, "' takes no argument, but '", words[1], "' was given; for one job: --job ",
                        words[1]);
  }
  return absl::StrCat("'", found->name, "' takes one argument, but there is also '", words[2], "'");
}

}  // namespace

int RunCommand(const std::vector<std::string>& words, const CtlSettings& settings, const SettingsTable& table) {
  const std::string wrong = CheckWords(words);
  if (!wrong.empty()) return Usage(wrong);
  const bool lists =
      words[0] == "status" || words[0] == "nodes" || words[0] == "ranks" || words[0] == "events" || words[0] == "watch";
  if (settings.run > 0 && settings.job_id.empty() && lists) {
    return Usage("--run says which run of a job: name the job too, with --job ID");
  }
  const absl::StatusOr<std::shared_ptr<TlsStore>> opened = OpenTls(settings);
  if (!opened.ok()) {
    Complain(opened.status());
    return kExitSecurity;
  }
  const std::shared_ptr<const TlsStore> tls = *opened;
  if (words[0] == "completion") return Completion(words, settings, table, tls);
  const SocketFallback fallback{SocketOf(settings), [&settings](const std::string& why) {
                                  std::fprintf(stderr, "ms-ctl: %s: %s; asked over the socket %s instead\n",
                                               JoinHostPort(settings.sched_host, settings.sched_port).c_str(),
                                               why.c_str(), SocketOf(settings).path.c_str());
                                }};
  const auto client = AdminClient::OverTcp(settings.sched_host, settings.sched_port, settings.timeout,
                                           SecurityOf(settings, tls), fallback, JobOf(words, settings));
  if (!client.ok()) return Complain(client.status());
  if (words[0] == "status") return Status(**client, settings);
  if (words[0] == "nodes") return Nodes(**client, settings);
  if (words[0] == "ranks") return Ranks(**client, settings);
  if (words[0] == "events") return Events(**client, settings);
  if (words[0] == "watch") return WatchFollowingTls(**client, settings, opened->get());
  if (words[0] == "counters") return Counters(**client, settings);
  const std::string argument = words.size() > 1 ? words[1] : "";
  if (words[0] == "why") return Why(**client, settings, argument);
  if (words[0] == "stacks") return Stacks(**client, settings, tls, argument);
  if (words[0] == "restart") return Steer(**client, settings, tls, v1::SteerRequest::RESTART, words[0], argument);
  if (words[0] == "fence") return Steer(**client, settings, tls, v1::SteerRequest::FENCE, words[0], argument);
  if (words[0] == "drain") return Steer(**client, settings, tls, v1::SteerRequest::DRAIN, words[0], argument);
  if (words[0] == "undrain") return Steer(**client, settings, tls, v1::SteerRequest::UNDRAIN, words[0], argument);
  return Stop(**client, settings, tls, argument);
}

}  // namespace muster::ctl
