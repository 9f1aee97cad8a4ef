#include "ctl/commands/asking.h"

#include <cstdio>
#include <map>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/exit_codes.h"
#include "common/base/text.h"
#include "common/net/grpc_start.h"
#include "common/net/ip_address.h"
#include "common/sys/log.h"
#include "common/sys/runtime_paths.h"
#include "common/tls/grpc/client_tls.h"
#include "ctl/commands/choose.h"
#include "ctl/commands/find_scheduler.h"

namespace muster::ctl {
namespace {

constexpr size_t kOwnThreads = 4;  // ms-ctl's threads beside gRPC's; `watch` with TLS has the most

// Returns the error for a certificate that is not an admin's. `socket` says why the Unix socket can't be used
// either.
absl::Status NoAdmin(const TlsStore& tls, const absl::Status& socket) {
  const std::optional<PeerName>& name = tls.Current()->own_name;
  const std::string whose = name.has_value() ? absl::StrCat("is ", name->ToUri()) : "has no name";
  return absl::UnauthenticatedError(absl::StrCat(
      "refused: this needs an admin's certificate, but the certificate of --tls_config ", whose,
      ". Give an admin's certificate with --tls_config (`ms-ctl certs admin --dir D` makes one), or run this on the "
      "scheduler's machine, as the user that runs ms-scheduler (",
      socket.message(), ")"));
}

// Checks that the scheduler behind the Unix socket is the one that --sched_host names. Needed because the default path
// of the socket depends only on the port, and another scheduler may use the same port number. `other`: the TLS store
// with a certificate that is not an admin's, for the error; null: without TLS.
absl::Status CheckSameScheduler(Call& call, AdminClient& behind_socket, const TlsStore* other) {
  const auto refused = [other](const absl::Status& why) { return other != nullptr ? NoAdmin(*other, why) : why; };
  const CtlSettings& settings = call.settings;
  if (!settings.admin_socket.empty()) return absl::OkStatus();  // the user named this socket
  const std::string name = JoinHostPort(settings.sched_host, settings.sched_port);
  const absl::StatusOr<v1::StatusReply> named = call.client->GetStatus("", 0);
  if (!named.ok()) {
    return absl::Status(named.status().code(),
                        absl::StrCat(named.status().message(), " (--admin_socket names a scheduler's socket)"));
  }
  const absl::StatusOr<v1::StatusReply> reached = behind_socket.GetStatus("", 0);
  if (!reached.ok()) return refused(reached.status());
  if (named->cluster_id() == reached->cluster_id()) return absl::OkStatus();
  return refused(
      absl::FailedPreconditionError(absl::StrCat("the scheduler at ", name, " is not the one that serves the socket ",
                                                 SocketOf(settings).path, ": name its socket with --admin_socket")));
}

}  // namespace

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
  return {settings.admin_socket, /*is_named=*/!settings.is_socket_found};
}

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

absl::StatusOr<Steered> ChooseSteered(Call& call, const std::string& verb, absl::Duration timeout) {
  const CtlSettings& settings = call.settings;
  const std::shared_ptr<const TlsStore> tls = call.tls;
  Steered steered;
  steered.job_id = settings.job_id;
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
  const TlsStore* const other = settings.admin_socket.empty() ? tls.get() : nullptr;
  if (!client.ok()) return other != nullptr ? NoAdmin(*other, client.status()) : client.status();
  if (absl::Status same = CheckSameScheduler(call, **client, other); !same.ok()) return same;
  steered.client = *std::move(client);
  return steered;
}

int PrepareCalls(Call& call) {
  absl::StatusOr<std::shared_ptr<TlsStore>> tls = OpenTls(call.settings);
  if (!tls.ok()) {
    Complain(tls.status());
    return kExitSecurity;
  }
  call.tls = *std::move(tls);
  const absl::Status threads = StartGrpc(kOwnThreads);
  return threads.ok() ? kExitSuccess : Complain(threads);
}

int AskTrustedWith(const std::string& job, Call& call, int (*answer)(Call&)) {
  if (const int code = PrepareCalls(call); code != kExitSuccess) return code;
  if (const absl::Status found = FindScheduler(call.settings); !found.ok()) return Complain(found);
  const CtlSettings& settings = call.settings;
  if (settings.is_socket_found) {
    absl::StatusOr<std::unique_ptr<AdminClient>> client = AdminClient::OverSocket(SocketOf(settings), settings.timeout);
    if (!client.ok()) return Complain(client.status());
    call.client = *std::move(client);
    return answer(call);
  }
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

}  // namespace muster::ctl
