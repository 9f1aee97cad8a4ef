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

// Returns how many of the process's descriptors connections may use. The others are left for files and other sockets.
size_t DescriptorsForConnections(size_t descriptor_limit);

// A connection needs three descriptors: the client's socket, and both ends of the socket pair between relay and gRPC.
inline constexpr size_t kDescriptorsOfAConnection = 3;

class RpcServer {
 public:
  struct Options {
    std::vector<Listener> listeners;
    std::vector<UniqueFd> datagrams = {};  // UDP sockets for heartbeats; empty: heartbeats come over streams only
    size_t descriptor_limit = 1024;        // see common/sys/room.h
    size_t memory_limit = 1ull << 30;      // bytes for all connections; beyond it gRPC breaks off calls
    size_t pending_per_core = 64;          // connections that gRPC may have before their first call, for each CPU core
    size_t max_queries = 1'024;            // admin calls that wait for an answer
    size_t reply_bytes = 64 << 20;  // unread bytes of admin answers; the answers of the store have an equal limit
    size_t max_store_calls = kMaxStoreCalls;
    size_t max_store_call_bytes = kMaxStoreCallBytes;
    size_t most_unjoined = 4'096;                // open streams that have not joined; fewer if memory_limit is small
    UnjoinedConnections::Options unjoined = {};  // limits of connections without a joined stream
    absl::Duration handshake_limit = absl::Seconds(10);
    absl::Duration join_limit = absl::Seconds(10);
    absl::Duration close_limit = absl::Seconds(5);
    absl::Duration query_limit = absl::Seconds(10);
    absl::Duration reply_limit = absl::Seconds(30);
    std::function<std::string()> why_full = nullptr;  // see ServiceContext; any thread
    // With TLS both are set, without TLS neither. Not owned.
    const TlsStore* tls_store = nullptr;
    ServerTls* tls = nullptr;
  };

  // The arguments after `options` must outlive the server. The loop's thread calls `on_settled`.
  RpcServer(Options options, const Authorizer& authorizer, const Clock& clock, CountedLog& counted,
            std::function<void(const RunSettled&)> on_settled);
  ~RpcServer();  // calls Shutdown without a grace

  // Returns the receiver for the loop's effects. It is valid as long as the server exists, also before Start and after
  // Shutdown.
  EffectSink& sink();

  // Starts serving. The server may call `post` until Shutdown has returned.
  absl::Status Start(PostEvent post);

  // Returns what the gRPC services use, for other ports that ask the core, such as the HTTP port. Valid from Start
  // until the server is destroyed. After Shutdown nothing is answered.
  const ServiceContext& services() const;

  // Makes health checks return NOT_SERVING from now on. All calls are still answered.
  void StopServing();

  // Ends the streams of peers that are no longer accepted. Call it when the trusted authorities or revocation lists
  // have changed. Any thread.
  void CheckPeers();

  // Waits until all agents have closed their streams. False: some were still open after `timeout`.
  bool AwaitNoStreams(absl::Duration timeout) const;

  // Closes the listeners and streams, and waits up to `grace` for running calls to end. Then breaks off those that
  // still run.
  void Shutdown(absl::Duration grace);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::scheduler
