// The open connections of a direct cluster that carry no heartbeats. Every MindSpore process has one, for metadata, and
// never identifies itself on it. What does show the process: a certificate for one node, or the process's own address
// or rank that it publishes or asks for. For the others, a host with so many processes has so many connections.
//
// Pure; the cluster asks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "common/base/clock.h"
#include "common/mindspore/cluster.h"

namespace muster::scheduler {

class MetadataConnections {
 public:
  void Opened(const mindspore::Peer& peer);
  // The peer registers, beats or leaves on it, so it is not for metadata.
  void NoteControl(const mindspore::Peer& peer) { Of(peer).is_control = true; }
  // It belongs to this node. The first call counts.
  void Tie(const mindspore::Peer& peer, const std::string& node_id);
  // It belongs to one of the cluster's processes, unknown which.
  void NoteMember(const mindspore::Peer& peer) { Of(peer).is_member = true; }
  bool IsMember(const mindspore::Peer& peer) const;
  void Closed(const mindspore::Peer& peer, MonotonicTime now);
  bool empty() const { return links_.empty(); }
  // Another cluster begins: the nodes of the connections are no longer known.
  void Forget();

  // The tied connections of each node id, and the number of free (not tied) ones of each address.
  struct Count {
    std::map<std::string, uint64_t> tied;  // by node id
    std::map<std::string, size_t> free;    // by address
  };
  Count Counted() const;
  // Returns the free connections of these addresses.
  std::set<uint64_t> FreeAt(const std::set<std::string>& addresses) const;
  // Returns when a connection of this address without heartbeats last closed; none if none did.
  std::optional<MonotonicTime> LastClosed(const IpAddress& address) const;

 private:
  struct Link {
    IpAddress address;
    std::string node_id;  // empty: not known
    bool is_control = false;
    bool is_member = false;
  };
  Link& Of(const mindspore::Peer& peer);

  std::unordered_map<uint64_t, Link> links_;          // by connection
  std::map<std::string, MonotonicTime> last_closed_;  // by address
};

}  // namespace muster::scheduler
