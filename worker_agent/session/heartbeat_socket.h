// The agent's end of its heartbeats by datagram, for one stream. Private to worker_agent.
//
// The thread that reads the stream makes this object; only the agent's loop uses it. Nothing here blocks or fails: a
// heartbeat that can't be sent is lost, and to the core it looks like one without an answer.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/net/datagram.h"
#include "common/net/grpc_calls.h"
#include "muster/v1/rendezvous.pb.h"
#include "worker_agent/core/events.h"

namespace muster::agent {

class HeartbeatSocket {
 public:
  // Returns null if the offer is not valid, or this machine can't send to the scheduler's address.
  static std::shared_ptr<HeartbeatSocket> Open(const GrpcPeer& scheduler, const v1::DatagramOffer& offer);

  int fd() const { return fd_.get(); }  // readable when answers have come
  void Send(const SendHeartbeat& heartbeat);
  // Returns the answers that have come since the last call. Leaves out datagrams without the scheduler's seal.
  std::vector<v1::Acknowledgement> TakeAnswers();

 private:
  HeartbeatSocket(UniqueFd fd, uint64_t stream, const DatagramKey& key)
      : fd_(std::move(fd)), stream_(stream), key_(key) {}

  const UniqueFd fd_;
  const uint64_t stream_;
  const DatagramKey key_;
  DatagramSeal seal_;
};

}  // namespace muster::agent
