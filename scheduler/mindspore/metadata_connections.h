// The open connections of a direct cluster that are no heartbeats'. Every MindSpore process has one, for metadata, and
// never says on it whose it is. What tells all the same: a certificate for one node, the process's own address or rank
// that it publishes or asks for; for the others, that a host with so many processes has so many connections.
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
  // It registers, beats or leaves: not for metadata.
  void NoteControl(const mindspore::Peer& peer) { Of(peer).is_control = true; }
  // It is this node's. The first word counts.
  void Tie(const mindspore::Peer& peer, const std::string& node_id);
  // It belongs to some process of the cluster, whichever.
  void NoteMember(const mindspore::Peer& peer) { Of(peer).is_member = true; }
  bool IsMember(const mindspore::Peer& peer) const;
  void Closed(const mindspore::Peer& peer, MonotonicTime now);
  bool empty() const { return links_.empty(); }
  // Another cluster begins: whose they are is not known any more.
  void Forget();

  // Those of each node id that are tied, and how many of each address are not.
  struct Count {
    std::map<std::string, uint64_t> tied;  // by node id
    std::map<std::string, size_t> free;    // by address
  };
  Count Counted() const;
  // Of these addresses, those that are not tied.
  std::set<uint64_t> FreeAt(const std::set<std::string>& addresses) const;
  // When a connection of this address that was no heartbeats' closed last, if one did.
  std::optional<MonotonicTime> LastClosed(const IpAddress& address) const;

 private:
  struct Link {
    IpAddress address;
    std::string node_id;  // empty: whose is not known
    bool is_control = false;
    bool is_member = false;
  };
  Link& Of(const mindspore::Peer& peer);

  std::unordered_map<uint64_t, Link> links_;          // by connection
  std::map<std::string, MonotonicTime> last_closed_;  // by address
};

}  // namespace muster::scheduler
