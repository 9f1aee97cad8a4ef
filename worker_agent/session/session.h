// The agent's connection to the scheduler, over gRPC.
//
// Each stream has a channel of its own: a dial resolves the name, connects (each address family in turn), asks the
// kernel to watch for a dead peer, and opens the stream. Messages sent before the stream is open wait for it. There is
// one stream at a time, or two while one is dialed that is to replace the other.
// The results are delivered as events of the agent's core: MessageReceived and StreamBroken with the dial's
// connect_seq, PeersFetched. A stream that was replaced or hung up delivers nothing more.
//
// The methods may be called from any thread, but not from inside `deliver`, and never block, except for Close.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/tls/grpc/credentials.h"
#include "worker_agent/core/events.h"
#include "worker_agent/session/heartbeat_socket.h"

namespace grpc {
class Channel;
}

namespace muster::agent {

struct SessionOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  absl::Duration connect_timeout = absl::Seconds(10);  // for each address family
  absl::Duration turn_timeout = absl::Minutes(2);      // the same once the kernel has connected: see DialWaits
  absl::Duration request_timeout = absl::Seconds(30);  // FetchPeers
  std::string job_id;                                  // the scheduler's certificate must cover it
  Security security;
};

class Workers;

class Session {
 public:
  // `deliver` is called from the session's own threads, one event at a time for each stream.
  Session(SessionOptions options, std::function<void(Event)> deliver);
  ~Session();  // closes at once
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Drops the streams that were open before, unless it is a replacement.
  void Dial(uint64_t connect_seq, bool is_replacement = false);
  // Ignored unless the stream of that dial is open or being opened.
  void Send(uint64_t connect_seq, v1::AgentMessage message);
  // Ends the stream of that dial (0: all that are open) after what was sent before.
  void HangUp(uint64_t connect_seq = 0);
  // Returns the socket for heartbeats by datagram beside the stream of that dial; null if there is none.
  std::shared_ptr<HeartbeatSocket> heartbeat_socket(uint64_t connect_seq) const;
  // Goes over the connection that the request names; UNAVAILABLE without it, DATA_LOSS when the digest does not fit.
  void FetchPeers(const std::string& job_id, const agent::FetchPeers& request);

  // The newest connection, for other services of the scheduler; null without one. Its holder keeps it open.
  std::shared_ptr<grpc::Channel> channel() const;

  // The CAs or the list of revoked certificates have changed: breaks off each stream, also one that is being opened, if
  // the certificate that the scheduler showed is revoked by now.
  void CheckPeer();

  // Hangs up, waits until the scheduler has taken everything that was sent (at most `timeout`), then ends. Nothing is
  // delivered once it has returned.
  void Close(absl::Duration timeout);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace muster::agent
