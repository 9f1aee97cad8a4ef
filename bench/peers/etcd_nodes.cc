// A round on etcd, as a fast and careful user would build it. A node takes a lease, watches its own key and puts its
// own entry under the lease. The leader, an extra connection, watches all entries; when the last one is there, it puts
// one key that every node watches. A node's rank is the revision of its entry, so no node has to read a list of N.

#include "bench/peers/peer_node.h"
#include "bench/peers/wire.h"

namespace muster::bench {
namespace {

constexpr int kLeaseSeconds = 600;
constexpr char kFormedKey[] = "job/formed";

Bytes WatchOf(const Bytes& key, const Bytes& range_end) {
  return Field(1, Field(1, key) + (range_end.empty() ? Bytes() : Field(2, range_end)));
}

int EventsIn(const Bytes& response) { return CountField(response, 11); }
bool SaysCreated(const Bytes& response) { return CountField(response, 3) > 0; }

class Leader {
 public:
  Leader(const std::string& target, int count, Tally* tally) : connection_(target), missing_(count), tally_(tally) {}

  // Watches; the nodes may join once is_ready().
  void Start() {
    watch_ = connection_.Open(
        "/etcdserverpb.Watch/Watch", [this](const Bytes& response) { OnEvents(response); },
        [this](const grpc::Status& status) {
          if (!is_leaving_) tally_->Failed("the leader's watch ended: " + status.error_message());
        });
    watch_->Send(WatchOf("job/node/", "job/node0"));
  }
  bool is_ready() const { return is_ready_; }
  void Leave() {
    is_leaving_ = true;
    watch_->Cancel();
  }

 private:
  void OnEvents(const Bytes& response) {
    if (SaysCreated(response)) is_ready_ = true;
    const int before = missing_;
    missing_ -= EventsIn(response);
    if (before <= 0 || missing_ > 0) return;
    connection_.Call("/etcdserverpb.KV/Put", Field(1, kFormedKey) + Field(2, "1"), [this](grpc::Status status, Bytes) {
      if (!status.ok()) tally_->Failed("the leader's put: " + status.error_message());
    });
  }

  Connection connection_;
  std::shared_ptr<Connection::Stream> watch_;
  std::atomic<bool> is_ready_ = false, is_leaving_ = false;
  int missing_;  // used by the watch's callbacks only
  Tally* const tally_;
};

class EtcdNode : public Node {
 public:
  EtcdNode(const std::string& target, int number, Tally* tally, std::shared_ptr<Leader> leader)
      : connection_(target), lease_(number + 1), tally_(tally), leader_(std::move(leader)) {}

  void Join() override {
    watch_ = connection_.Open(
        "/etcdserverpb.Watch/Watch", [this](const Bytes& response) { OnWatch(response); },
        [this](const grpc::Status& status) { OnEnd("watch", status); });
    watch_->Send(WatchOf(kFormedKey, ""));
    connection_.Call("/etcdserverpb.Lease/LeaseGrant", Field(1, kLeaseSeconds) + Field(2, lease_),
                     [this](grpc::Status status, Bytes) {
                       if (!status.ok()) return tally_->Failed("lease: " + status.error_message());
                       PutWhenBothAreThere();
                     });
  }

  void Beat() override {
    if (is_beating_.exchange(true)) return;
    if (keep_alive_ == nullptr) {
      keep_alive_ = connection_.Open(
          "/etcdserverpb.Lease/LeaseKeepAlive",
          [this](const Bytes&) {
            tally_->Answered(sent_);
            is_beating_ = false;
          },
          [this](const grpc::Status& status) { OnEnd("keep-alive", status); });
    }
    sent_ = Clock::now();
    keep_alive_->Send(Field(1, lease_));
  }

  void Leave() override {
    is_leaving_ = true;
    watch_->Cancel();
    if (keep_alive_ != nullptr) keep_alive_->Cancel();
    if (leader_ != nullptr) leader_->Leave();
  }

 private:
  void OnWatch(const Bytes& response) {
    if (SaysCreated(response)) PutWhenBothAreThere();
    if (EventsIn(response) > 0) tally_->Formed();
  }

  void PutWhenBothAreThere() {
    if (++ready_ < 2) return;
    const Bytes put =
        Field(1, "job/node/" + std::to_string(lease_)) + Field(2, Bytes(kNodeInfoBytes, 'x')) + Field(3, lease_);
    connection_.Call("/etcdserverpb.KV/Put", put, [this](grpc::Status status, Bytes) {
      if (!status.ok()) tally_->Failed("put: " + status.error_message());
    });
  }

  void OnEnd(const char* what, const grpc::Status& status) {
    if (!is_leaving_) tally_->Failed(std::string(what) + " ended: " + status.error_message());
  }

  Connection connection_;
  std::shared_ptr<Connection::Stream> watch_, keep_alive_;
  const uint64_t lease_;
  Tally* const tally_;
  const std::shared_ptr<Leader> leader_;  // set on one node, which destroys it at the end
  std::atomic<int> ready_ = 0;            // the lease, the watch
  std::atomic<bool> is_beating_ = false, is_leaving_ = false;
  Clock::time_point sent_;
};

}  // namespace

std::vector<std::unique_ptr<Node>> EtcdNodes(const std::string& target, int count, Tally* tally) {
  auto leader = std::make_shared<Leader>(target, count, tally);
  leader->Start();
  while (!leader->is_ready() && tally->failed() == 0) usleep(1000);
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back(std::make_unique<EtcdNode>(target, i, tally, i == 0 ? leader : nullptr));
  return nodes;
}

}  // namespace muster::bench
