// The TLS objects of ms-scheduler. It opens them at the start and reads their files again when these change.
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

// One thread owns it and calls its methods. It must outlive the server that uses its parts.
class SchedulerTls {
 public:
  // Opens the files of --tls_config, and logs whether traffic is encrypted. Without --tls_config there is no store and
  // all traffic is plain text. Removes the passwords from the environment, so call it while the process has only one
  // thread, and before it uses gRPC. Reading the files may hang, so call it before SIGTERM is handled (StopWaiter).
  // `clock` and `counted` must outlive the result.
  static absl::StatusOr<std::unique_ptr<SchedulerTls>> Open(const TlsSettings& settings, const Clock& clock,
                                                            CountedLog& counted);

  bool is_on() const { return store_ != nullptr; }
  std::shared_ptr<const TlsStore> store() const { return store_; }  // null: plain text
  ServerTls* server() const { return server_.get(); }
  const Authorizer& authorizer() const { return *authorizer_; }

  // Starts a thread that reads changed files again and then calls `check_peers`.
  absl::Status Watch(std::function<void()> check_peers);
  // Makes that thread look at the files now. Returns false without TLS, when there are no files.
  bool Reload();
  // Ends that thread. Once this returns, `check_peers` is not called any more.
  void Stop();

 private:
  SchedulerTls() : authorizer_(std::make_unique<PlaintextAuthorizer>()) {}

  std::shared_ptr<TlsStore> store_;
  std::unique_ptr<ServerTls> server_;
  std::unique_ptr<Authorizer> authorizer_;
};

}  // namespace muster::scheduler
