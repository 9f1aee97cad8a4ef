// The agent's connection to the scheduler, over gRPC.
//
// Each stream has a channel of its own: a dial resolves the name, connects (each address family in turn), asks the
// kernel to watch for a dead peer, and opens the stream. Messages sent before the stream is open wait for it. There is
// one stream at a time, or two while a replacement is being dialed. The results are delivered as events of the agent's
// core: MessageReceived and StreamBroken with the dial's connect_seq, PeersFetched. A stream that was replaced or hung
// up delivers nothing more.
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
  absl::Duration turn_timeout = absl::Minutes(2);      // replaces connect_timeout once the kernel connected (DialWaits)
  absl::Duration request_timeout = absl::Seconds(30);  // for FetchPeers
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

  // Begins to open a stream. Drops those that were open before, unless the new one is a replacement.
  void Dial(uint64_t connect_seq, bool is_replacement = false);
  // Sends a message; does nothing unless the stream of that dial is open or being opened.
  void Send(uint64_t connect_seq, v1::AgentMessage message);
  // Ends the stream of that dial (0: all that are open) once the messages from before are sent.
  void HangUp(uint64_t connect_seq = 0);
  // Returns the socket for heartbeats by datagram beside the stream of that dial; null if there is none.
  std::shared_ptr<HeartbeatSocket> heartbeat_socket(uint64_t connect_seq) const;
  // Fetches the peer list over the connection that the request names, and delivers PeersFetched. Its status is
  // UNAVAILABLE without that connection, and DATA_LOSS if the digest does not fit.
  void FetchPeers(const std::string& job_id, const agent::FetchPeers& request);

  // Returns the newest connection, for calls of other services of the scheduler; null: there is none. The pointer keeps
  // the connection open.
  std::shared_ptr<grpc::Channel> channel() const;

  // Must be called when the CAs or the list of revoked certificates have changed. Ends each stream, also one that is
  // being opened, if the certificate that the scheduler has shown is revoked now.
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
