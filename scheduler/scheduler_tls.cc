#include "scheduler/scheduler_tls.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/settings/settings.h"
#include "scheduler/frontend/tls_authorizer.h"

namespace muster::scheduler {

namespace {

// Returns an error unless the certificate's name is a scheduler's: agents and ms-ctl would refuse any other
// certificate.
absl::Status CheckOwnName(const TlsStore& store) {
  if (!store.settings().needs_name()) return absl::OkStatus();
  const PeerName& name = *store.Current()->own_name;
  if (name.kind == PeerName::Kind::kScheduler) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("server_cert_path: the certificate's name is ", name.ToUri(),
                                                  ", which is not a scheduler's: `ms-ctl certs scheduler` makes one"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SchedulerTls>> SchedulerTls::Open(const TlsSettings& settings, const Clock& clock,
                                                                 CountedLog& counted) {
  std::map<std::string, std::string> environment = ProcessEnvironment();
  TlsStore::Options options{TlsRole::kServer, settings, PasswordFrom(environment, TlsRole::kServer)};
  WipePasswordVariables(environment);
  std::unique_ptr<SchedulerTls> tls(new SchedulerTls);
  if (!settings.is_on()) {
    Log(Severity::kInfo,
        "traffic is plain text: others on the network can read it, and any client that reaches the port can join");
    return tls;
  }
  ForbidCoreDumps();
  auto store = TlsStore::Open(std::move(options), clock, counted);
  if (!store.ok()) return store.status();
  if (absl::Status status = CheckOwnName(**store); !status.ok()) return status;
  tls->store_ = *std::move(store);
  absl::StatusOr<std::unique_ptr<ServerTls>> server = ServerTls::Create(*tls->store_, {.protocol = "h2"}, counted);
  if (!server.ok()) return server.status();
  tls->server_ = *std::move(server);
  tls->authorizer_ = std::make_unique<TlsAuthorizer>(*tls->store_, tls->server_->intermediates());
  if (settings.needs_name()) {
    Log(Severity::kInfo, absl::StrCat("mutual TLS; this scheduler is ", tls->store_->Current()->own_name->ToUri()));
  } else {
    Log(Severity::kWarning,
        "mutual TLS with --tls_identity=ca-only: any certificate of the authority may claim to be any node");
  }
  return tls;
}

absl::Status SchedulerTls::Watch(std::function<void()> check_peers) {
  if (store_ == nullptr) return absl::OkStatus();
  return store_->Start(std::move(check_peers));
}

bool SchedulerTls::Reload() {
  if (store_ != nullptr) store_->Nudge();
  return store_ != nullptr;
}

void SchedulerTls::Stop() {
  if (store_ != nullptr) store_->Stop();
}

}  // namespace muster::scheduler
