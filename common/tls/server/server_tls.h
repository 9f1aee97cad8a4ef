// A server's TLS that follows its store: what new connections shake hands with. Thread-safe.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/sys/log.h"
#include "common/tls/server/server_context.h"

namespace muster {

inline constexpr char kNotServed[] = "tls: change not served";  // what it is counted under

class ServerTls {
 public:
  struct Options {
    bool takes_nameless = false;  // as in TlsServerContext
    bool only_nodes = false;      // as there
    std::string protocol = {};    // as there
  };
  // The store must outlive it, and it the connections that begin with its contexts.
  static absl::StatusOr<std::unique_ptr<ServerTls>> Create(const TlsStore& store, Options options, CountedLog& counted);

  // Of what the store serves now. What can't be put in force (no memory for it, say) is counted, and tried again with
  // the next connection; until then it is the one before.
  std::shared_ptr<const TlsServerContext> Context();

  // That have stood in the chains of those who were let in.
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
