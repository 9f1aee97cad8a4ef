// Shared by the commands of ms-ctl: the way to the scheduler, and the printing of results.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/show/render.h"
#include "common/tls/tls_store.h"
#include "ctl/admin_client.h"
#include "ctl/commands/commands.h"

namespace muster::ctl {

// Each prints and returns the exit code: of a failed call, of a usage error, of a result.
int Complain(const absl::Status& status);
int Usage(const std::string& text);
int Print(const std::string& text);

AdminSocket SocketOf(const CtlSettings& settings);
Security SecurityOf(const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls);

// Opens TLS as it is configured; null without TLS. One ms-ctl uses the store for all its calls.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenTls(const CtlSettings& settings);

// Opens call.tls and starts gRPC. Returns 0, or prints the error and returns its exit code.
int PrepareCalls(Call& call);

// Opens the way to the call's scheduler, which is trusted with `job`, and runs `answer`.
int AskTrustedWith(const std::string& job, Call& call, int (*answer)(Call&));

// Returns the status of the jobs that the user asked for. For an unknown job the error names the known ones.
absl::StatusOr<v1::StatusReply> AskStatus(AdminClient& client, const CtlSettings& settings);

// Returns the listing of each job that the user asked for.
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

struct Steered {
  std::string job_id;
  std::unique_ptr<AdminClient> client;
};

// Returns the job of a changing call (or one for its owner's eyes): the named one, or the only one that has not ended.
// Also returns the client for it: with an admin's certificate, else over the scheduler's Unix socket.
absl::StatusOr<Steered> ChooseSteered(Call& call, const std::string& verb, absl::Duration timeout);

}  // namespace muster::ctl
