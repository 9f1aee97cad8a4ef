// The functions that the commands of ms-ctl share, to connect to the scheduler and to print results.
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

// Complain prints the error of a failed call, Usage the text of a usage error, Print a result. Each returns the exit
// code that ms-ctl ends with.
int Complain(const absl::Status& status);
int Usage(const std::string& text);
int Print(const std::string& text);

AdminSocket SocketOf(const CtlSettings& settings);
Security SecurityOf(const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls);

// Opens the TLS store for the settings; null: TLS is not configured. All calls of this ms-ctl use the same store.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenTls(const CtlSettings& settings);

// Sets call.tls and starts gRPC. Returns 0; on an error, prints it and returns its exit code.
int PrepareCalls(Call& call);

// Connects call.client to the scheduler and runs `answer`. With TLS, the scheduler's certificate must be for `job`;
// empty: any job. Returns the exit code.
int AskTrustedWith(const std::string& job, Call& call, int (*answer)(Call&));

// Returns the status of the jobs that the user asked for. If the job is unknown, the error lists the known jobs.
absl::StatusOr<v1::StatusReply> AskStatus(AdminClient& client, const CtlSettings& settings);

// Calls `list` for each job that the user asked for, and returns the replies.
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

// Used by commands that change a job or show private data of it. Returns the job: the named one, or the only one that
// has not ended. Also returns a client that may do this: over TCP if we have an admin's certificate, otherwise over the
// scheduler's Unix socket. `verb` is for messages, such as "stop".
absl::StatusOr<Steered> ChooseSteered(Call& call, const std::string& verb, absl::Duration timeout);

}  // namespace muster::ctl
