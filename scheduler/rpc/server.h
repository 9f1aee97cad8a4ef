// The scheduler's network side: listeners, acceptor, services, and the sink that carries the core's effects to them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/sys/log.h"
#include "common/tls/server/server_tls.h"
#include "muster/v1/store.pb.h"
#include "scheduler/frontend/authorizer.h"
#include "scheduler/frontend/service_context.h"
#include "scheduler/ingress/listener.h"
#include "scheduler/ingress/unjoined_connections.h"
#include "scheduler/loop/loop.h"

namespace muster::scheduler {

// Returns the number of descriptors for connections; some are left for everything else.
size_t DescriptorsForConnections(size_t descriptor_limit);

// The client's, and both ends of the pair to gRPC.
inline constexpr size_t kDescriptorsOfAConnection = 3;

class RpcServer {
 public:
  struct Options {
    std::vector<Listener> listeners;
    std::vector<UniqueFd> datagrams = {};  // for heartbeats; none: over streams only
    size_t descriptor_limit = 1024;        // see common/sys/room.h
    size_t memory_limit = 1ull << 30;      // bytes for all connections; beyond it gRPC breaks off calls
    size_t pending_per_core = 64;          // connections without a first call
    size_t max_queries = 1'024;            // admin calls that wait for an answer
    size_t reply_bytes = 64 << 20;         // of their answers not taken yet; the same again for the store's
    size_t max_store_calls = kMaxStoreCalls;
    size_t max_store_call_bytes = kMaxStoreCallBytes;
    size_t most_unjoined = 4'096;                // streams that have not joined; fewer if memory is scarce
    UnjoinedConnections::Options unjoined = {};  // connections without such a stream
    absl::Duration handshake_limit = absl::Seconds(10);
    absl::Duration join_limit = absl::Seconds(10);
    absl::Duration close_limit = absl::Seconds(5);
    absl::Duration query_limit = absl::Seconds(10);
    absl::Duration reply_limit = absl::Seconds(30);
    std::function<std::string()> why_full = nullptr;  // see ServiceContext; any thread
    // With TLS: both, not owned.
    const TlsStore* tls_store = nullptr;
    ServerTls* tls = nullptr;
  };

  // Owns nothing; all must outlive the server. The loop's thread calls `on_settled`.
  RpcServer(Options options, const Authorizer& authorizer, const Clock& clock, CountedLog& counted,
            std::function<void(const RunSettled&)> on_settled);
  ~RpcServer();  // shuts down at once

  // Returns the receiver of the loop's effects. Valid for the server's life, also before Start and after Shutdown.
  EffectSink& sink();

  // Starts serving. `post` may be called until Shutdown has returned.
  absl::Status Start(PostEvent post);

  // Returns the services' shared dependencies, for others that answer from the core. Valid from Start to the server's
  // end; nothing is answered after Shutdown.
  const ServiceContext& services() const;

  // From now on health checks return NOT_SERVING; all calls are still answered.
  void StopServing();

  // Any thread: the trusted authorities have changed. Cuts off streams of peers that are no longer accepted.
  void CheckPeers();

  // Waits until all agents have hung up. False after `timeout`.
  bool AwaitNoStreams(absl::Duration timeout) const;

  // Closes listeners and streams, lets running calls end within `grace`, then breaks off the rest.
  void Shutdown(absl::Duration grace);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
