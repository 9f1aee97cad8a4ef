// The answer to another agent's request:
//
//   no round runs here, or the request is of a newer round     later
//   it names another job, run, round or receiver               refused
//   its key is not the one that this agent announced           refused
//   the sender is no node of the round, or the connection's    refused
//   address is not one that the sender has reported
//   the certificate is of another node or another job          refused
//   this is the first node, which runs the job's command       refused
#include "worker_agent/gateway/exec/round.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text.h"
#include "common/net/peer_node.h"

namespace muster::exec {
namespace {

constexpr size_t kMaxNamed = 4;

Peer PeerOf(const v1::PeerNode& node) {
  Peer peer;
  peer.node_id = node.node_id();
  peer.host_name = node.host_name();
  peer.machine = node.machine();
  peer.slots = static_cast<uint32_t>(SlotCount(node));
  peer.port = static_cast<uint16_t>(node.exec_port());
  peer.key = node.exec_key();
  if (const auto address = IpAddress::FromBytes(node.address())) peer.addresses.push_back(*address);
  for (const std::string& other : node.other_addresses()) {
    if (const auto address = IpAddress::FromBytes(other)) peer.addresses.push_back(*address);
  }
  return peer;
}

bool HasAddress(const Peer& peer, const IpAddress& address) {
  return std::find(peer.addresses.begin(), peer.addresses.end(), address) != peer.addresses.end();
}

Judgement Refused(v1::RemoteCommands::Refusal refusal, std::string text) {
  return {{AnswerCode::kRefused, std::move(text)}, refusal};
}

}  // namespace

absl::StatusOr<Round> RoundOf(const v1::PeerList& peers, const std::string& node_id, std::string token) {
  Round round;
  round.job = peers.job_id();
  round.run = peers.run();
  round.round = peers.round();
  round.token = std::move(token);
  round.own = SIZE_MAX;
  std::string closed;
  size_t closed_count = 0;
  for (const v1::PeerNode& node : peers.nodes()) {
    if (node.node_id() == node_id) round.own = round.peers.size();
    round.peers.push_back(PeerOf(node));
    const Peer& peer = round.peers.back();
    if ((peer.port != 0 && !peer.key.empty()) || ++closed_count > kMaxNamed) continue;
    absl::StrAppend(&closed, closed.empty() ? "" : ", ", EscapeControl(peer.node_id), " (",
                    EscapeControl(peer.host_name), ")");
  }
  if (round.own == SIZE_MAX) return absl::InternalError("allow_exec: this node is not in the round's peer list");
  if (closed_count == round.peers.size()) {
    return absl::FailedPreconditionError(
        "allow_exec: ms-scheduler has a version that does not support it; use one version of Muster");
  }
  if (closed_count > 0) {
    if (closed_count > kMaxNamed) absl::StrAppend(&closed, " and ", closed_count - kMaxNamed, " more");
    return absl::FailedPreconditionError(absl::StrCat(
        "allow_exec: these nodes take no remote commands: ", closed,
        "; start ms-worker there with the same command line (--per_job --allow_exec) and the same version of Muster"));
  }
  return round;
}

const Peer* FindHost(const Round& round, const std::string& host) {
  const auto address = IpAddress::Parse(host);
  const auto fits = [&](const Peer& peer, bool is_by_short_name) {
    if (is_by_short_name) return peer.host_name.substr(0, peer.host_name.find('.')) == host.substr(0, host.find('.'));
    return peer.host_name == host || peer.node_id == host;
  };
  if (address) {
    if (address->is_loopback()) return &round.own_peer();
    const auto found = std::find_if(round.peers.begin(), round.peers.end(),
                                    [&](const Peer& peer) { return HasAddress(peer, *address); });
    return found == round.peers.end() ? nullptr : &*found;
  }
  if (host == "localhost" || host.empty()) return host.empty() ? nullptr : &round.own_peer();
  for (const bool is_by_short_name : {false, true}) {
    if (fits(round.own_peer(), is_by_short_name)) return &round.own_peer();
    for (const Peer& peer : round.peers) {
      if (fits(peer, is_by_short_name)) return &peer;
    }
  }
  return nullptr;
}

bool IsHere(const Round& round, const Peer& peer) { return peer.machine == round.own_peer().machine; }

Judgement Judge(const Round* round, const Request& request, const Asker& asker) {
  if (round == nullptr) return {{AnswerCode::kLater, "no round runs there"}};
  if (request.job != round->job) return Refused(v1::RemoteCommands::OTHER_JOB, "it is of another job");
  if (request.run == round->run && request.round > round->round)
    return {{AnswerCode::kLater, "its round has not begun"}};
  if (request.run != round->run || request.round != round->round) {
    return Refused(v1::RemoteCommands::OTHER_ROUND, "it is of another round");
  }
  if (request.to != round->own_peer().node_id) {
    return Refused(v1::RemoteCommands::NOT_SERVED, "it is meant for another node");
  }
  if (!IsSameSecret(request.secret, round->own_peer().key)) {
    return Refused(v1::RemoteCommands::WRONG_KEY, "it does not know this node's key");
  }
  const auto from = std::find_if(round->peers.begin(), round->peers.end(),
                                 [&](const Peer& peer) { return peer.node_id == request.from; });
  if (from == round->peers.end()) {
    return Refused(v1::RemoteCommands::NO_SUCH_NODE,
                   absl::StrCat(EscapeControl(request.from), " is no node of this round"));
  }
  if (!HasAddress(*from, asker.address) && !(asker.is_local && IsHere(*round, *from))) {
    return Refused(v1::RemoteCommands::NO_SUCH_NODE,
                   absl::StrCat(EscapeControl(request.from), " has not reported that address"));
  }
  if (const std::string why = WhyNotNode(asker.name, round->job, request.from); !why.empty()) {
    return Refused(v1::RemoteCommands::WRONG_CERTIFICATE, why);
  }
  if (round->is_first()) {
    return Refused(v1::RemoteCommands::NOT_SERVED,
                   "the job's command itself runs on that node, which takes no remote commands");
  }
  return {};
}

std::string WhyNotNode(const std::optional<PeerName>& name, const std::string& job, const std::string& node) {
  if (!name || (name->CoversJob(job) && name->CoversNode(node))) return "";
  return absl::StrCat("its certificate is of ", name->ToUri(), ", which is not ", EscapeControl(node), " of job ",
                      EscapeControl(job));
}

bool IsSameSecret(const std::string& a, const std::string& b) {
  if (a.size() != b.size() || a.empty()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string HostFileText(const Round& round, const std::string& between) {
  std::vector<std::pair<const Peer*, uint32_t>> machines;
  for (const Peer& peer : round.peers) {
    auto found = std::find_if(machines.begin(), machines.end(),
                              [&](const auto& entry) { return entry.first->machine == peer.machine; });
    if (found == machines.end()) found = machines.insert(machines.end(), {&peer, 0});
    found->second += peer.slots;
  }
  std::string text;
  for (const auto& [peer, slots] : machines) {
    const bool has_number = !peer->addresses.empty() && !peer->addresses[0].is_v6();
    absl::StrAppend(&text, has_number ? peer->addresses[0].ToString() : EscapeControl(peer->host_name), between, slots,
                    "\n");
  }
  return text;
}

}  // namespace muster::exec
