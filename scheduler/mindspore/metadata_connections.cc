#include "scheduler/mindspore/metadata_connections.h"

namespace muster::scheduler {
namespace {

constexpr size_t kMaxAddresses = 4096;

}  // namespace

MetadataConnections::Link& MetadataConnections::Of(const mindspore::Peer& peer) {
  return links_.try_emplace(peer.connection, Link{peer.address, "", false, false}).first->second;
}

void MetadataConnections::Opened(const mindspore::Peer& peer) { Of(peer); }

void MetadataConnections::Tie(const mindspore::Peer& peer, const std::string& node_id) {
  Link& link = Of(peer);
  if (link.node_id.empty()) link.node_id = node_id;
}

bool MetadataConnections::IsMember(const mindspore::Peer& peer) const {
  const auto found = links_.find(peer.connection);
  return found != links_.end() && found->second.is_member;
}

void MetadataConnections::Closed(const mindspore::Peer& peer, MonotonicTime now) {
  const auto found = links_.find(peer.connection);
  const bool was_control = found != links_.end() && found->second.is_control;
  if (found != links_.end()) links_.erase(found);
  if (was_control) return;
  const std::string address = peer.address.bytes();
  if (last_closed_.size() < kMaxAddresses || last_closed_.contains(address)) last_closed_[address] = now;
}

void MetadataConnections::Forget() {
  last_closed_.clear();
  for (auto& [connection, link] : links_) {
    link.node_id.clear();
    link.is_member = false;
  }
}

MetadataConnections::Count MetadataConnections::Counted() const {
  Count count;
  for (const auto& [connection, link] : links_) {
    if (link.is_control) continue;
    if (link.node_id.empty()) {
      ++count.free[link.address.bytes()];
    } else {
      count.tied.emplace(link.node_id, connection);
    }
  }
  return count;
}

std::set<uint64_t> MetadataConnections::FreeAt(const std::set<std::string>& addresses) const {
  std::set<uint64_t> found;
  for (const auto& [connection, link] : links_) {
    if (!link.is_control && link.node_id.empty() && addresses.contains(link.address.bytes())) found.insert(connection);
  }
  return found;
}

std::optional<MonotonicTime> MetadataConnections::LastClosed(const IpAddress& address) const {
  const auto found = last_closed_.find(address.bytes());
  if (found == last_closed_.end()) return std::nullopt;
  return found->second;
}

}  // namespace muster::scheduler
