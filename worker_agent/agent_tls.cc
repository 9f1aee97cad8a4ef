#include "worker_agent/agent_tls.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/tls_grpc/client_tls.h"

namespace muster::agent {
namespace {

absl::Status CheckOwnName(const TlsStore& store, AgentSettings& settings) {
  if (!settings.tls.needs_name()) return absl::OkStatus();
  const PeerName& name = *store.Current()->own_name;
  const std::string is_for = absl::StrCat("client_cert_path: the certificate's name is ", name.ToUri());
  if (!name.IsNode()) return absl::PermissionDeniedError(absl::StrCat(is_for, ", which is none of a node"));
  if (!name.CoversJob(settings.job_id)) {
    return absl::PermissionDeniedError(absl::StrCat(is_for, ", but the job is ", settings.job_id,
                                                    ": correct MS_JOB_ID, or use that job's certificate"));
  }
  const bool names_one = name.kind == PeerName::Kind::kNode && name.id != "*";
  if (names_one && settings.node_id.empty()) settings.node_id = name.id;
  if (name.CoversNode(settings.node_id)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(is_for, ", but MS_NODE_ID is ", settings.node_id, ": correct one of the two"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsStore>> OpenAgentTls(AgentSettings& settings, const PasswordSource& password,
                                                       CountedLog& counted) {
  TlsSettings tls = settings.tls;
  if (settings.standalone) tls.require_tls = false;  // it stays on this machine
  absl::StatusOr<std::shared_ptr<TlsStore>> store = OpenClientTls(tls, password, settings.sched_host, counted);
  if (!store.ok() || *store == nullptr) return store;
  if (absl::Status status = CheckOwnName(**store, settings); !status.ok()) return status;
  return store;
}

}  // namespace muster::agent
