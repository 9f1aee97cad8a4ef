#include "worker_agent/gateway/exec/protocol.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "common/net/net.h"
#include "worker_agent/gateway/exec/program/holder.h"

namespace muster::exec {

const TcpProtocol::Words& ExecProtocol::words() const {
  static const auto* const words = new Words{
      .name = "remote commands",
      .thread = "ms-exec-links",
      .without_tls = "start this agent with --tls_config like the others",
      .with_tls = "start all agents with --tls_config",
  };
  return *words;
}

std::unique_ptr<TcpConnection> ExecProtocol::Accept(Stream stream, const TcpClient& client,
                                                    const std::string& /*own_address*/, TcpServerContext& context) {
  const auto part = client.listener == kForOwn ? ExecConnection::Part::kOwn : ExecConnection::Part::kAsker;
  return std::make_unique<ExecConnection>(part, std::move(stream), client, *this, context);
}

std::unique_ptr<TcpConnection> ExecProtocol::Dialed(Stream stream, const TcpClient& client, TcpServerContext& context) {
  return std::make_unique<ExecConnection>(ExecConnection::Part::kAsked, std::move(stream), client, *this, context);
}

std::unique_ptr<TcpConnection> ExecProtocol::Adopted(Stream stream, const TcpClient& client,
                                                     TcpServerContext& context) {
  return std::make_unique<ExecConnection>(ExecConnection::Part::kHolder, std::move(stream), client, *this, context);
}

void ExecProtocol::Tick() {
  Deliver(reports_.TakeDue(clock_.Read().monotonic));
  std::vector<uint64_t> ids;
  for (const auto& [id, connection] : connections_) ids.push_back(id);
  for (const uint64_t id : ids) {
    if (ExecConnection* const connection = Find(id)) connection->DialIfDue();
  }
}

void ExecProtocol::BeginRound(Round round) {
  if (round_ && round_->run == round.run && round_->round == round.round) return;
  EndRound();
  round_ = std::move(round);
}

void ExecProtocol::Report(v1::RemoteCommands command) {
  command.set_round(round_ ? round_->round : 0);
  Deliver(reports_.Add(std::move(command), clock_.Read().monotonic));
}

void ExecProtocol::Deliver(std::vector<v1::RemoteCommands> reported) {
  if (!sink_) return;
  for (v1::RemoteCommands& commands : reported) sink_(std::move(commands));
}

void ExecProtocol::EndRound() {
  Deliver(reports_.EndRound());
  round_.reset();
  holder_.reset();
  for (const auto& [id, connection] : connections_) connection->End();
}

void ExecProtocol::EndHolder() {
  if (holder_.is_open()) ::send(holder_.get(), &kEndLetter, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool ExecProtocol::GiveToHolder(const UniqueFd& socket) {
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

std::string ExecProtocol::WhyNotAddress(const IpAddress& address) const {
  if (!round_ || IsLocalAddress(address)) return "";
  for (const Peer& peer : round_->peers) {
    if (std::find(peer.addresses.begin(), peer.addresses.end(), address) != peer.addresses.end()) return "";
  }
  return "no machine of this round has reported that address";
}

void ExecProtocol::Enter(ExecConnection& connection) { connections_[connection.client().connection] = &connection; }
void ExecProtocol::Leave(const ExecConnection& connection) { connections_.erase(connection.client().connection); }

ExecConnection* ExecProtocol::Find(uint64_t id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second;
}

size_t ExecProtocol::CountAsked() const {
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->part() == ExecConnection::Part::kOwn && entry.second->is_paired();
  }));
}

size_t ExecProtocol::CountServed() const {
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), [](const auto& entry) {
    return entry.second->part() == ExecConnection::Part::kHolder;
  }));
}

}  // namespace muster::exec
