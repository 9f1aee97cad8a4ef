// The datagrams of all agents of one queue, over one socket; a real agent has a socket of its own. Belongs to the
// queue's thread.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "common/base/unique_fd.h"
#include "common/net/datagram.h"
#include "muster/v1/rendezvous.pb.h"

namespace muster::bench {

class Datagrams {
 public:
  class User {
   public:
    virtual ~User() = default;
    virtual void OnAnswered(uint64_t heartbeat_seq) = 0;
  };

  // `target` as gRPC wants it.
  explicit Datagrams(std::string target) : target_(std::move(target)) {}

  // True if the offer can be taken. `user` is not owned.
  bool Join(const v1::DatagramOffer& offer, User& user);
  void Leave(uint64_t stream) { members_.erase(stream); }
  // `progress`: as in HeartbeatDatagram.
  void Send(uint64_t stream, uint64_t heartbeat_seq, const std::string& progress);
  // Delivers the datagrams that have come.
  void Take();

 private:
  struct Member {
    DatagramKey key;
    User* user = nullptr;
  };
  const std::string target_;
  UniqueFd fd_;  // open once an agent has joined
  DatagramSeal seal_;
  absl::flat_hash_map<uint64_t, Member> members_;  // by stream
};

}  // namespace muster::bench
