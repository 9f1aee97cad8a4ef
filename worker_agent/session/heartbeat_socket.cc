#include "worker_agent/session/heartbeat_socket.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "common/net/net.h"

namespace muster::agent {
namespace {

constexpr int kMaxAtOnce = 64;  // a sender that floods the port must not keep the loop busy

}  // namespace

std::shared_ptr<HeartbeatSocket> HeartbeatSocket::Open(const GrpcPeer& scheduler, const v1::DatagramOffer& offer) {
  const std::optional<DatagramKey> key = DatagramKey::FromBytes(offer.key(), offer.is_secret());
  if (offer.stream() == 0 || !key) return nullptr;
  UniqueFd fd = OpenDatagramsTowards(scheduler.address, scheduler.port);
  if (fd.get() < 0) return nullptr;
  return std::shared_ptr<HeartbeatSocket>(new HeartbeatSocket(std::move(fd), offer.stream(), *key));
}

void HeartbeatSocket::Send(const SendHeartbeat& heartbeat) {
  const std::string bytes = seal_.Seal(
      HeartbeatDatagram{stream_, heartbeat.heartbeat_seq, heartbeat.armed_fence_ms, heartbeat.progress}, key_);
  send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::vector<v1::Acknowledgement> HeartbeatSocket::TakeAnswers() {
  std::vector<v1::Acknowledgement> answers;
  // One byte more than an answer has, so that a longer datagram is not taken for an answer.
  std::array<char, AnswerDatagram::kBytes + 1> bytes;
  for (int i = 0; i < kMaxAtOnce; ++i) {
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && errno == ECONNREFUSED) continue;  // an error that an earlier datagram of ours met
    if (size < 0) return answers;
    const auto answer = seal_.OpenAnswer({bytes.data(), static_cast<size_t>(size)}, key_);
    if (!answer || answer->stream != stream_) continue;
    v1::Acknowledgement& acknowledgement = answers.emplace_back();
    acknowledgement.set_heartbeat_seq(answer->heartbeat_seq);
    acknowledgement.set_events_through(answer->events_through);
    acknowledgement.set_fence_timeout_ms(answer->fence_timeout_ms);
    acknowledgement.set_heartbeat_interval_ms(answer->heartbeat_interval_ms);
  }
  return answers;
}

}  // namespace muster::agent
