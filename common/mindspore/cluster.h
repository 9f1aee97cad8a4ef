// The cluster as the handlers of MindSpore's requests see it: its nodes, ranks and metadata. There are two
// implementations: an agent's gateway, and the scheduler's --mindspore_port.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/mindspore/messages.pb.h"
#include "common/store/job_store.h"
#include "common/tcp_server/connection.h"

namespace muster::mindspore {

// The connection on which a request came. In a gateway, its listener identifies the slot.
using Peer = TcpClient;

enum class TopologyState : uint32_t { kInitializing = 0, kInitialized = 1, kFailed = 2, kFinished = 3 };

struct Health {
  TopologyState state = TopologyState::kInitializing;
  uint32_t nodes = 0;
  uint32_t abnormal = 0;  // stays 0 while a replacement is awaited: above 0, a client without recovery ends itself
};

struct Admission {
  bool is_admitted = false;
  uint32_t rank = 0;
  uint32_t nodes = 0;
  std::string reason;  // why it was refused
};

enum class MetadataUse { kAsk, kWrite };

inline Admission Refuse(std::string reason) { return {false, 0, 0, std::move(reason)}; }

// True for an id of digits only: a node with such an id asks for that rank.
inline bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The ports that MindSpore's own scheduler distributes in the metadata "node_port_range".
inline constexpr uint32_t kFirstSharedPort = 8118;
inline constexpr uint32_t kLastSharedPort = 65535;

enum class LeaveResult { kDone, kNotInitialized, kUnknownNode };

// The server's one thread makes every call. No call may block.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Admission Register(const Peer& peer, const Registration& registration) = 0;
  virtual LeaveResult Unregister(const Peer& peer, const std::string& node_id) = 0;
  // Returns std::nullopt if there is no such node. Then no answer is sent, as in MindSpore.
  virtual std::optional<Health> Heartbeat(const Peer& peer, const std::string& node_id) = 0;
  // Returns the host names of a role's nodes in rank order; std::nullopt until all of them are there.
  virtual std::optional<std::vector<std::string>> HostNames(const Peer& peer, const std::string& role) = 0;
  // Returns metadata that the cluster itself publishes ("MS_WORKER<node id>", "node_port_range"). std::nullopt: the key
  // is in the store, if anywhere.
  virtual std::optional<std::string> Published(const Peer& peer, const std::string& key) = 0;
  // Returns the store for all other metadata of this peer's job. It outlives the server.
  virtual JobStore& Store(const Peer& peer) = 0;
  // True if this peer may use metadata. Otherwise its writes are dropped, and each request for a key is answered with
  // "not there". `key` may be empty.
  virtual bool ServesMetadata(const Peer& /*peer*/, MetadataUse /*use*/, const std::string& /*key*/) { return true; }
  // False while there is no room for writes: the server then leaves them unread, so that none is lost.
  virtual bool HasRoomForWrites() { return true; }
  // Called when a connection is accepted. Only the client's address is known then.
  virtual void ConnectionOpened(const Peer& /*peer*/) {}
  virtual void ConnectionClosed(const Peer& peer) = 0;
  // Returns the connections of registered nodes. The server never closes these to make room for new ones.
  virtual std::set<uint64_t> Needed() { return {}; }
  // Called at least four times a second. If HasTimers is false, it is called less often while no client is connected.
  virtual void Tick() {}
  virtual bool HasTimers() const { return false; }
};

}  // namespace muster::mindspore
