// TLS as ms-scheduler has it: what the network side needs, opened at the start and kept up to date.
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

// Its owner's thread, unless it says otherwise. Must outlive the server that uses its parts.
class SchedulerTls {
 public:
  // Without --tls_config there is no store and everything is plain text; the log says which of both it is. Takes the
  // passwords out of the environment: while there is one thread, and before gRPC is used. A signal ends the process
  // while the files are read, which may hang. Neither clock nor log is owned.
  static absl::StatusOr<std::unique_ptr<SchedulerTls>> Open(const TlsSettings& settings, const Clock& clock,
                                                            CountedLog& counted);

  bool is_on() const { return store_ != nullptr; }
  std::shared_ptr<const TlsStore> store() const { return store_; }  // null: plain text
  ServerTls* server() const { return server_.get(); }
  const Authorizer& authorizer() const { return *authorizer_; }

  // From now on changed files are taken over; `check_peers` is called by a thread of its own after each change.
  absl::Status Watch(std::function<void()> check_peers);
  // Looks at the files now. False: there are none.
  bool Reload();
  // `check_peers` is not called any more when this has returned.
  void Stop();

 private:
  SchedulerTls() : authorizer_(std::make_unique<PlaintextAuthorizer>()) {}

  std::shared_ptr<TlsStore> store_;
  std::unique_ptr<ServerTls> server_;
  std::unique_ptr<Authorizer> authorizer_;
};

}  // namespace muster::scheduler
