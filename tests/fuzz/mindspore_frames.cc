// Bytes from a hostile process at MindSpore's ports, cut in pieces, through the decoder and the handlers, over a
// gateway's slots and a direct cluster. The first byte chooses the pieces and the receiver.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/mindspore/frame.h"
#include "common/mindspore/handlers.h"
#include "common/store/memory_job_store.h"
#include "scheduler/mindspore/direct_cluster.h"
#include "worker_agent/gateway/mindspore/gateway.h"

namespace muster {
namespace {

agent::GatewayRound Round() {
  agent::GatewayRound round;
  round.run = round.round = 1;
  round.host_name = "host";
  round.assignment.set_worker_num(2);
  round.assignment.set_role(v1::ROLE_WORKER);
  round.assignment.add_slots()->set_rank(0);
  round.assignment.add_slots()->set_rank(1);
  return round;
}

// The cluster without a gateway, with a clock that moves a second with each call.
class Direct final : public mindspore::Cluster {
 public:
  explicit Direct(JobStore& store) : store_(store), cluster_({.worker_num = 2, .server_num = 1}) {}
  mindspore::Admission Register(const mindspore::Peer& peer, const mindspore::Registration& message) override {
    return cluster_.Register(peer, message, Later());
  }
  mindspore::LeaveResult Unregister(const mindspore::Peer& peer, const std::string& id) override {
    return cluster_.Unregister(peer, id);
  }
  std::optional<mindspore::Health> Heartbeat(const mindspore::Peer& peer, const std::string& id) override {
    cluster_.Tick(Later());
    return cluster_.Heartbeat(peer, id, now_);
  }
  std::optional<std::vector<std::string>> HostNames(const mindspore::Peer&, const std::string& role) override {
    return cluster_.HostNames(role);
  }
  std::optional<std::string> Published(const mindspore::Peer&, const std::string& key) override {
    return cluster_.Published(key);
  }
  JobStore& Store(const mindspore::Peer&) override { return store_; }
  bool ServesMetadata(const mindspore::Peer& peer, mindspore::MetadataUse use, const std::string& key) override {
    cluster_.TakeNotes();
    cluster_.Needed();
    return cluster_.ServesMetadata(peer, use, key);
  }
  void ConnectionOpened(const mindspore::Peer& peer) override { cluster_.ConnectionOpened(peer); }
  void ConnectionClosed(const mindspore::Peer& peer) override { cluster_.ConnectionClosed(peer, Later()); }

 private:
  MonotonicTime Later() { return now_ = now_ + absl::Seconds(1); }
  JobStore& store_;
  scheduler::DirectCluster cluster_;
  MonotonicTime now_ = MonotonicTime::FromNanoseconds(1);
};

void Play(mindspore::Cluster& cluster, std::string_view bytes, size_t step) {
  mindspore::FrameDecoder decoder;
  mindspore::Peer peer;
  mindspore::Dialect dialect = mindspore::Dialect::kOld;
  static const auto counted = std::make_shared<CountedLog>(Clock::System());
  for (size_t at = 0; at < bytes.size(); at += step) {
    decoder.Append(bytes.substr(at, step));
    MUSTER_CHECK(decoder.buffered() <= bytes.size(), "only what has come is held");
    while (true) {
      auto frame = decoder.Next();
      if (!frame.ok()) return;
      if (!frame->has_value()) break;
      MUSTER_CHECK((*frame)->name.size() <= kMaxMindSporeStringBytes && (*frame)->body.size() <= kMaxMindSporeBodyBytes,
                   "limits hold");
      const auto number = mindspore::RequestNumber((*frame)->name);
      if (!number) continue;
      peer.connection = 1 + *number % 3;
      const auto answers = std::make_shared<int>(0);  // a wait for a key is answered when the store ends
      const mindspore::Answer answer =
          mindspore::HandleRequest(cluster, peer, dialect, *number, (*frame)->body, counted,
                                   [answers](const mindspore::Answer&) { ++*answers; });
      MUSTER_CHECK(*number != mindspore::kWriteMetadata || answer.kind == mindspore::Answer::Kind::kSilence,
                   "a write is never answered");
      MUSTER_CHECK(*answers <= 1, "at most one answer");
      dialect = dialect == mindspore::Dialect::kOld ? mindspore::Dialect::kNew : mindspore::Dialect::kOld;
    }
  }
  cluster.ConnectionClosed(peer);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  google::protobuf::SetLogHandler(nullptr);  // as in both daemons
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t step = 1 + (data[0] >> 1);
  if ((data[0] & 1) != 0) {
    muster::MemoryJobStore store(muster::Clock::System());
    muster::Direct direct(store);
    muster::Play(direct, bytes, step);
  } else {
    muster::MemoryJobStore store(muster::Clock::System());
    muster::agent::MindSporeSlots slots(store, {});
    slots.BeginRound(muster::Round());
    muster::Play(slots, bytes, step);
  }
  return 0;
}
