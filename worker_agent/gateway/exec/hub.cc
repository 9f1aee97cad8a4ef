#include "worker_agent/gateway/exec/hub.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/net/net.h"
#include "worker_agent/gateway/exec/program/holder.h"

namespace muster::exec {

const TcpProtocol::Words& Hub::words() const {
  static const auto* const words = new Words{
      .name = "remote commands",
      .thread = "ms-exec-links",
      .without_tls = "start this agent with --tls_config as the others",
      .with_tls = "start all agents with --tls_config",
  };
  return *words;
}

std::unique_ptr<TcpConnection> Hub::Accept(Stream stream, const TcpClient& client, const std::string& /*own_address*/,
                                           TcpServerContext& context) {
  const auto part = client.listener == kForOwn ? Connection::Part::kOwn : Connection::Part::kAsker;
  return std::make_unique<Connection>(part, std::move(stream), client, *this, context);
}

std::unique_ptr<TcpConnection> Hub::Dialed(Stream stream, const TcpClient& client, TcpServerContext& context) {
  return std::make_unique<Connection>(Connection::Part::kAsked, std::move(stream), client, *this, context);
}

std::unique_ptr<TcpConnection> Hub::Adopted(Stream stream, const TcpClient& client, TcpServerContext& context) {
  return std::make_unique<Connection>(Connection::Part::kHolder, std::move(stream), client, *this, context);
}

void Hub::Tick() {
  Hand(told_.TakeDue(clock_.Read().monotonic));
  std::vector<uint64_t> ids;
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  for (const uint64_t id : ids) {
    if (Connection* const connection = Find(id)) connection->DialIfDue();
  }
}

void Hub::BeginRound(Round round) {
  if (round_ && round_->run == round.run && round_->round == round.round) return;
  EndRound();
  round_ = std::move(round);
}

void Hub::Tell(v1::RemoteCommands command) {
  command.set_round(round_ ? round_->round : 0);
  Hand(told_.Add(std::move(command), clock_.Read().monotonic));
}

void Hub::Hand(std::vector<v1::RemoteCommands> told) {
  if (!teller_) return;
  for (v1::RemoteCommands& commands : told) teller_(std::move(commands));
}

void Hub::EndRound() {
  Hand(told_.EndRound());
  round_.reset();
  holder_.reset();
  for (const auto& [id, connection] : connections_) connection->End();
}

void Hub::EndHolder() {
  if (holder_.is_open()) ::send(holder_.get(), &kEndLetter, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool Hub::GiveToHolder(const UniqueFd& socket) {
  if (!holder_.is_open()) return false;
  char letter = kCommandLetter;
  iovec bytes{&letter, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof(room);
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = socket.get();
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof(descriptor));
  return ::sendmsg(holder_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

std::string Hub::WhyNotAddress(const IpAddress& address) const {
  if (!round_ || IsLocalAddress(address)) return "";
  for (const Peer& peer : round_->peers) {
    if (std::find(peer.addresses.begin(), peer.addresses.end(), address) != peer.addresses.end()) return "";
  }
  return "no machine of this round has reported that address";
}

void Hub::Enter(Connection& connection) { connections_[connection.client().connection] = &connection; }
void Hub::Leave(const Connection& connection) { connections_.erase(connection.client().connection); }

Connection* Hub::Find(uint64_t id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second;
}

size_t Hub::CountAsked() const {
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->part() == Connection::Part::kOwn && entry.second->is_paired();
  }));
}

size_t Hub::CountServed() const {
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->part() == Connection::Part::kHolder;
  }));
}

}  // namespace muster::exec
