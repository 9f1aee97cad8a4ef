// The cluster as the handlers of MindSpore's requests see it: its nodes, ranks and metadata. An agent's gateway has one
// implementation, the scheduler's --mindspore_port another.
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

// The connection that a request came on. In a gateway, its listener identifies the slot.
using Peer = TcpClient;

enum class TopologyState : uint32_t { kInitializing = 0, kInitialized = 1, kFailed = 2, kFinished = 3 };

struct Health {
  TopologyState state = TopologyState::kInitializing;
  uint32_t nodes = 0;
  uint32_t abnormal = 0;  // above 0, a client without recovery ends itself: stays 0 while a replacement is awaited
};

struct Admission {
  bool is_admitted = false;
  uint32_t rank = 0;
  uint32_t nodes = 0;
  std::string reason;  // of a refusal
};

enum class MetadataUse { kAsk, kWrite };

inline Admission Refuse(std::string reason) { return {false, 0, 0, std::move(reason)}; }

// True for digits only: such a node id asks for a rank.
inline bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// The ports that MindSpore's own scheduler shares out in "node_port_range".
inline constexpr uint32_t kFirstSharedPort = 8118;
inline constexpr uint32_t kLastSharedPort = 65535;

enum class LeaveResult { kDone, kNotInitialized, kUnknownNode };

// Every call comes from the server's one thread and must not block.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Admission Register(const Peer& peer, const Registration& registration) = 0;
  virtual LeaveResult Unregister(const Peer& peer, const std::string& node_id) = 0;
  // std::nullopt: no such node. As in MindSpore, nothing is answered then.
  virtual std::optional<Health> Heartbeat(const Peer& peer, const std::string& node_id) = 0;
  // Returns the host names of a role, in rank order; std::nullopt while not all are there.
  virtual std::optional<std::vector<std::string>> HostNames(const Peer& peer, const std::string& role) = 0;
  // Returns metadata that the cluster itself publishes ("MS_WORKER<node id>", "node_port_range"); std::nullopt: look in
  // the store.
  virtual std::optional<std::string> Published(const Peer& peer, const std::string& key) = 0;
  // Returns the store of all other metadata of this peer's job. Outlives the server.
  virtual JobStore& Store(const Peer& peer) = 0;
  // True if this peer may use metadata. Otherwise a write is dropped, and every key that it asks for is "not there".
  // `key` may be empty.
  virtual bool ServesMetadata(const Peer& /*peer*/, MetadataUse /*use*/, const std::string& /*key*/) { return true; }
  // False leaves writes unread for now, so that none is lost.
  virtual bool HasRoomForWrites() { return true; }
  // Called when only the client's address is known.
  virtual void ConnectionOpened(const Peer& /*peer*/) {}
  virtual void ConnectionClosed(const Peer& peer) = 0;
  // Returns the connections of registered nodes, which are never closed to make room for new ones.
  virtual std::set<uint64_t> Needed() { return {}; }
  // Called at least four times a second; if HasTimers is false, less often while no client is connected.
  virtual void Tick() {}
  virtual bool HasTimers() const { return false; }
};

}  // namespace muster::mindspore
