#include "worker_agent/agent_tls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sys/secret_descriptor.h"
#include "common/tls/grpc/client_tls.h"
#include "common/tls/tls_hand_over.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxShown = 8;

absl::Status CheckOwnName(const TlsStore& store, AgentSettings& settings) {
  if (!settings.tls.needs_name()) return absl::OkStatus();
  const PeerName& name = *store.Current()->own_name;
  const std::string is_for = absl::StrCat("client_cert_path: the certificate's name is ", name.ToUri());
  if (!name.IsNode())
    return absl::PermissionDeniedError(
        absl::StrCat(is_for, ", which is not a node's: use a certificate of `ms-ctl certs node`"));
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

AgentTls::AgentTls(std::shared_ptr<TlsStore> store) : store_(std::move(store)) {
  shown_.push_back(store_->Current()->identity);
}

absl::StatusOr<std::unique_ptr<AgentTls>> AgentTls::Open(AgentSettings& settings, const PasswordSource& password,
                                                         CountedLog& counted) {
  TlsSettings tls = settings.tls;
  if (settings.standalone) tls.require_tls = false;  // no connection leaves this machine
  absl::StatusOr<std::shared_ptr<TlsStore>> store = OpenClientTls(tls, password, settings.sched_host, counted);
  if (!store.ok()) return store.status();
  if (*store == nullptr) return std::unique_ptr<AgentTls>();
  if (absl::Status status = CheckOwnName(**store, settings); !status.ok()) return status;
  return std::unique_ptr<AgentTls>(new AgentTls(*std::move(store)));
}

absl::Status AgentTls::Start(std::function<void(bool has_new_certificate)> on_change) {
  return store_->Start([this, on_change = std::move(on_change)] {
    const std::shared_ptr<const KeyMaterial> identity = store_->Current()->identity;
    bool is_new = false;
    {
      MutexLock lock(mutex_);
      is_new = shown_.back() != identity;
      if (is_new) shown_.push_back(identity);
      if (shown_.size() > kMaxShown) shown_.pop_front();
    }
    on_change(is_new);
  });
}

HandOver AgentTls::Pack(const std::string& fingerprint) const {
  std::shared_ptr<const KeyMaterial> identity = store_->Current()->identity;
  {
    MutexLock lock(mutex_);
    for (const auto& shown : shown_) {
      if (shown->leaf().Fingerprint() == fingerprint) identity = shown;
    }
  }
  absl::StatusOr<std::string> packed = PackTls(*store_, *identity);
  const absl::StatusOr<int> descriptor = packed.ok() ? MakeSecretDescriptor(*packed) : packed.status();
  if (packed.ok()) Wipe(*packed);
  if (descriptor.ok()) return {kTlsHandOverVariable, std::make_shared<const UniqueFd>(*descriptor)};
  Log(Severity::kError, std::string(descriptor.status().message()));
  return {};
}

}  // namespace muster::agent
