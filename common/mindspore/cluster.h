// What the handlers of MindSpore's requests ask: who is who in the cluster. One implementation stands behind the
// gateway of an agent, one behind --mindspore_port of the scheduler.
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

// The connection that a request came on. In a gateway its listener is the slot.
using Peer = TcpClient;

enum class TopologyState : uint32_t { kInitializing = 0, kInitialized = 1, kFailed = 2, kFinished = 3 };

struct Health {
  TopologyState state = TopologyState::kInitializing;
  uint32_t nodes = 0;
  uint32_t abnormal = 0;  // above 0, a client without recovery ends itself: never while a replacement is awaited
};

struct Admission {
  bool is_admitted = false;
  uint32_t rank = 0;
  uint32_t nodes = 0;
  std::string reason;  // of a refusal
};

enum class MetadataUse { kAsk, kWrite };

inline Admission Refuse(std::string reason) { return {false, 0, 0, std::move(reason)}; }

// Digits only: such a node id asks for a rank.
inline bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// What MindSpore's own scheduler shares out in "node_port_range".
inline constexpr uint32_t kFirstSharedPort = 8118;
inline constexpr uint32_t kLastSharedPort = 65535;

enum class LeaveResult { kDone, kNotInitialized, kUnknownNode };

// Every call comes from the server's one thread and must not block.
class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual Admission Register(const Peer& peer, const Registration& registration) = 0;
  virtual LeaveResult Unregister(const Peer& peer, const std::string& node_id) = 0;
  // std::nullopt: no such node; nothing is answered then, as MindSpore does.
  virtual std::optional<Health> Heartbeat(const Peer& peer, const std::string& node_id) = 0;
  // Of this role, in rank order; std::nullopt while not all are there.
  virtual std::optional<std::vector<std::string>> HostNames(const Peer& peer, const std::string& role) = 0;
  // Metadata that the cluster itself publishes ("MS_WORKER<node id>", "node_port_range"); std::nullopt: see the store.
  virtual std::optional<std::string> Published(const Peer& peer, const std::string& key) = 0;
  // All other metadata of the job that this peer belongs to. Outlives the server.
  virtual JobStore& Store(const Peer& peer) = 0;
  // Whether this peer may use metadata; else a write is dropped, and all that is asked for is not there. `key` may be
  // empty.
  virtual bool ServesMetadata(const Peer& /*peer*/, MetadataUse /*use*/, const std::string& /*key*/) { return true; }
  // False: writes are left unread for now, so that none is lost.
  virtual bool HasRoomForWrites() { return true; }
  // Before anything is known of the client but its address.
  virtual void ConnectionOpened(const Peer& /*peer*/) {}
  virtual void ConnectionClosed(const Peer& peer) = 0;
  // The connections that are not closed to make room for new ones: of those that have registered.
  virtual std::set<uint64_t> Needed() { return {}; }
  // At least four times a second; where nothing waits for the time, less often while nobody is connected.
  virtual void Tick() {}
  virtual bool HasTimers() const { return false; }
};

}  // namespace muster::mindspore
