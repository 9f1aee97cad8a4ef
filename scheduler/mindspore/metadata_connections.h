// The open connections of a DirectCluster, to find out which ones are metadata connections and to which node each
// belongs.
//
// Every MindSpore process has a metadata connection, but never names its node on it. It shows its node only if it has a
// certificate for one node, if it publishes the address of its own rank, or if it asks for its own rank. Then the
// connection is tied to the node. All others are free: only their number is known, and a host needs one for each of its
// processes. Pure.
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
  // Call it when a process registers, sends a heartbeat or leaves over this connection: so it is not for metadata.
  void NoteControl(const mindspore::Peer& peer) { Of(peer).is_control = true; }
  // Call it when the connection has shown that it belongs to this node. Later calls for the same connection do nothing.
  void Tie(const mindspore::Peer& peer, const std::string& node_id);
  // Call it when the connection belongs to one of the cluster's processes, but it is not known to which.
  void NoteMember(const mindspore::Peer& peer) { Of(peer).is_member = true; }
  bool IsMember(const mindspore::Peer& peer) const;
  void Closed(const mindspore::Peer& peer, MonotonicTime now);
  bool empty() const { return links_.empty(); }
  // Call it when the next cluster begins: forgets to which nodes the connections belong.
  void Forget();

  // A tied metadata connection of each node that has one, and the number of free ones of each address.
  struct Count {
    std::map<std::string, uint64_t> tied;  // by node id
    std::map<std::string, size_t> free;    // by address
  };
  Count Counted() const;
  // Returns the free connections of these addresses.
  std::set<uint64_t> FreeAt(const std::set<std::string>& addresses) const;
  // Returns when a metadata connection from this address last closed; none: none has closed.
  std::optional<MonotonicTime> LastClosed(const IpAddress& address) const;

 private:
  struct Link {
    IpAddress address;
    std::string node_id;  // empty: the connection is free
    bool is_control = false;
    bool is_member = false;
  };
  Link& Of(const mindspore::Peer& peer);

  std::unordered_map<uint64_t, Link> links_;          // by connection
  std::map<std::string, MonotonicTime> last_closed_;  // by address
};

}  // namespace muster::scheduler
