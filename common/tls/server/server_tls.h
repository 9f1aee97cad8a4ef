// Gives a server the TLS context for new connections, and follows the changes of its store. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/sys/log.h"
#include "common/tls/server/server_context.h"

namespace muster {

inline constexpr char kNotServed[] = "tls: change not served";  // counts contexts that could not be made

class ServerTls {
 public:
  struct Options {
    bool takes_nameless = false;  // as in TlsServerContext::Options
    bool only_nodes = false;      // as in TlsServerContext::Options
    std::string protocol = {};    // as in TlsServerContext::Options
  };
  // The store must outlive this object. This object must outlive the connections that use its contexts.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Create(const TlsStore& store, Options options, CountedLog& counted);

  // Returns the context for the store's present state. If it can't be made (for example because memory is short), that
  // is counted, the previous context stays in use, and the next call tries again.
  std::shared_ptr<const TlsServerContext> Context();

  // Returns the intermediates from the chains of accepted clients.
  const Intermediates& intermediates() const { return intermediates_; }

 private:
  ServerTls(const TlsStore& store, Options options, CountedLog& counted)
      : store_(store), options_(std::move(options)), counted_(counted) {}
  absl::StatusOr<std::shared_ptr<const TlsServerContext>> Make();

  const TlsStore& store_;
  const Options options_;
  CountedLog& counted_;
  Intermediates intermediates_;
  Mutex mutex_;
  std::shared_ptr<const TlsServerContext> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster
