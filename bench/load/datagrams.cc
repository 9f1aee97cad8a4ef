#include "bench/load/datagrams.h"

#include <sys/socket.h>

#include <array>

#include "common/net/grpc_calls.h"
#include "common/net/net.h"

namespace muster::bench {
namespace {

constexpr int kReceiveBuffer = 4 << 20;

}  // namespace

bool Datagrams::Join(const v1::DatagramOffer& offer, User& user) {
  if (fd_.get() < 0) {
    const auto server = ParseGrpcPeer(target_);
    if (!server) return false;
    fd_ = OpenDatagramsTowards(server->address, server->port);
    if (fd_.get() < 0) return false;
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
  }
  const auto key = DatagramKey::FromBytes(offer.key(), offer.is_secret());
  if (!key) return false;
  members_[offer.stream()] = {*key, &user};
  return true;
}

void Datagrams::Send(uint64_t stream, uint64_t heartbeat_seq, const std::string& progress) {
  const std::string bytes = seal_.Seal(HeartbeatDatagram{stream, heartbeat_seq, 0, progress}, members_.at(stream).key);
  send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void Datagrams::Take() {
  if (members_.empty()) return;
  std::array<char, AnswerDatagram::kBytes + 1> bytes;
  while (true) {
    const ssize_t size = recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size <= 0) return;
    const std::string_view datagram(bytes.data(), static_cast<size_t>(size));
    const auto member = members_.find(StreamOfDatagram(datagram));
    if (member == members_.end()) continue;
    const auto answer = seal_.OpenAnswer(datagram, member->second.key);
    if (answer) member->second.user->OnAnswered(answer->heartbeat_seq);
  }
}

}  // namespace muster::bench
