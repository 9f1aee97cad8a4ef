// What the commands of ms-ctl share: the way to the scheduler, and how they say what they found.
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

// Each prints and returns the exit code: of an error of a call, of words that make no sense, of what was found.
int Complain(const absl::Status& status);
int Usage(const std::string& text);
int Print(const std::string& text);

AdminSocket SocketOf(const CtlSettings& settings);
Security SecurityOf(const CtlSettings& settings, const std::shared_ptr<const TlsStore>& tls);

// TLS as it is configured; null without. What stays between the calls of one ms-ctl.
absl::StatusOr<std::shared_ptr<TlsStore>> OpenTls(const CtlSettings& settings);

// Opens call.tls, and has gRPC begin. The exit code of what went wrong, which it has said; 0 if nothing did.
int PrepareCalls(Call& call);

// Opens the way to the scheduler of the call, which is trusted with `job`, and has `answer` use it.
int AskTrustedWith(const std::string& job, Call& call, int (*answer)(Call&));

// The status of the jobs that the user asked for; an unknown job is an error that names those there are.
absl::StatusOr<v1::StatusReply> AskStatus(AdminClient& client, const CtlSettings& settings);

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

struct Steered {
  std::string job_id;
  std::unique_ptr<AdminClient> client;
};

// The job that a changing call (or one for its owner's eyes) is for: named, or the only one that has not ended. And the
// way to say it: an admin's certificate, else the scheduler's Unix socket.
absl::StatusOr<Steered> ChooseSteered(Call& call, const std::string& verb, absl::Duration timeout);

}  // namespace muster::ctl
