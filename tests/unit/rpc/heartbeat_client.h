// The agent's end of its heartbeats by datagram; a test may misuse it in any way.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "common/net/datagram.h"
#include "common/net/net.h"
#include "muster/v1/rendezvous.pb.h"

namespace muster::scheduler {

class HeartbeatClient {
 public:
  HeartbeatClient(const v1::DatagramOffer& offer, uint16_t port, const std::string& address = "127.0.0.1")
      : stream_(offer.stream()),
        fd_(OpenDatagramsTowards(*IpAddress::Parse(address), port)),
        key_(*DatagramKey::FromBytes(offer.key(), offer.is_secret())) {}

  std::string Sealed(uint64_t heartbeat_seq, uint32_t armed_fence_ms = 0) {
    return seal_.Seal(HeartbeatDatagram{stream_, heartbeat_seq, armed_fence_ms}, key_);
  }
  std::string SealedWithProgress(uint64_t heartbeat_seq, const std::string& progress) {
    return seal_.Seal(HeartbeatDatagram{stream_, heartbeat_seq, 0, progress}, key_);
  }
  void Send(uint64_t heartbeat_seq, uint32_t armed_fence_ms = 0) { SendBytes(Sealed(heartbeat_seq, armed_fence_ms)); }
  void SendBytes(const std::string& bytes) {
    pollfd writable = {fd_.get(), POLLOUT, 0};
    poll(&writable, 1, kPatienceMs);
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }

  // Returns the next answer, if it comes in time and opens.
  std::optional<AnswerDatagram> Receive() {
    if (!IsReadableWithin(kPatienceMs)) return std::nullopt;
    char bytes[128];
    const ssize_t size = recv(fd_.get(), bytes, sizeof(bytes), 0);
    return size < 0 ? std::nullopt : seal_.OpenAnswer({bytes, static_cast<size_t>(size)}, key_);
  }
  bool HasAnswer() { return IsReadableWithin(0); }

 private:
  bool IsReadableWithin(int ms) {
    pollfd readable = {fd_.get(), POLLIN, 0};
    return poll(&readable, 1, ms) == 1;
  }

  static constexpr int kPatienceMs = 20'000;

  const uint64_t stream_;
  const muster::UniqueFd fd_;
  const DatagramKey key_;
  DatagramSeal seal_;
};

}  // namespace muster::scheduler
