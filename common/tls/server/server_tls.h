// A server's TLS that follows its store: the context for new connections. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/sys/log.h"
#include "common/tls/server/server_context.h"

namespace muster {

inline constexpr char kNotServed[] = "tls: change not served";  // the name of its counter

class ServerTls {
 public:
  struct Options {
    bool takes_nameless = false;  // as in TlsServerContext
    bool only_nodes = false;      // the same
    std::string protocol = {};    // the same
  };
  // The store must outlive this, and this object must outlive the connections that begin with its contexts.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Create(const TlsStore& store, Options options, CountedLog& counted);

  // Returns the context for the store's present state. If it can't be made (for lack of memory, say), that is counted,
  // and tried again with the next connection; until then the previous context serves.
  std::shared_ptr<const TlsServerContext> Context();

  // Returns the intermediates in the chains of accepted clients.
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
