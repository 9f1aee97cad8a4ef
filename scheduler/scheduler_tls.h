// TLS of ms-scheduler: the network side's parts, opened at the start and kept up to date.
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "common/sys/log.h"
#include "common/tls/server/server_tls.h"
#include "common/tls/tls_store.h"
#include "scheduler/frontend/authorizer.h"

namespace muster::scheduler {

// Owned by one thread, except where noted. Must outlive the server that uses its parts.
class SchedulerTls {
 public:
  // Without --tls_config there is no store and everything is plain text; logs which of the two it is. Removes the
  // passwords from the environment: call it while there is one thread, and before gRPC is used. A signal ends the
  // process while it reads the files, which may hang. Owns neither clock nor log.
  static absl::StatusOr<std::unique_ptr<SchedulerTls>> Open(const TlsSettings& settings, const Clock& clock,
                                                            CountedLog& counted);

  bool is_on() const { return store_ != nullptr; }
  std::shared_ptr<const TlsStore> store() const { return store_; }  // null: plain text
  ServerTls* server() const { return server_.get(); }
  const Authorizer& authorizer() const { return *authorizer_; }

  // Uses changed files from now on. A thread of its own calls `check_peers` after each change.
  absl::Status Watch(std::function<void()> check_peers);
  // Checks the files now. False: there are none.
  bool Reload();
  // Once this returns, `check_peers` is not called any more.
  void Stop();

 private:
  SchedulerTls() : authorizer_(std::make_unique<PlaintextAuthorizer>()) {}

  std::shared_ptr<TlsStore> store_;
  std::unique_ptr<ServerTls> server_;
  std::unique_ptr<Authorizer> authorizer_;
};

}  // namespace muster::scheduler
