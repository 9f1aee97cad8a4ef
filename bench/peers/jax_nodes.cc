// A task of JAX's coordination service (the dialect of jaxlib 0.10), from its registration until it holds the topology
// of all, as a JAX process on a CPU does it. It registers and is held until all have registered. It asks for errors and
// for the notice of a preemption; both calls are held. It sends its own topology. Task 0 reads the topologies of all
// tasks and sends the whole, which the other tasks read.
//
// `target`: the one service of all tasks, HOST:PORT, or @FILE with one address a line, each for an equal share of the
// tasks, in their order.

#include <fstream>

#include "bench/peers/jax_topology.h"
#include "bench/peers/peer_node.h"
#include "bench/peers/wire.h"

namespace muster::bench {
namespace {

class JaxNode : public Node {
 public:
  JaxNode(const std::string& target, int task, int count, Tally* tally)
      : connection_(target, GRPC_COMPRESS_GZIP), task_(task), count_(count), tally_(tally) {}

  void Join() override {
    Call("RegisterTask", Fixed(3, Incarnation()) + Field(5, task_), [this](const Bytes& answer) {
      if (answer.size() < 9) return tally_->Failed("no incarnation of the service");
      service_ = answer.substr(1, 8);
      Hold("PollForError", Field(2, task_));
      Hold("GetKeyValue", Field(2, "RECEIVED_PREEMPTION_NOTICE"));
      Insert(LocalTopologyKey(task_), Bytes(kTopologyBytes, 'x'), [this] {
        if (task_ == 0) return Collect();
        Get(kGlobalTopologyKey, [this](const Bytes& topology) { Check(topology); });
      });
    });
  }

  void Beat() override {}
  void Leave() override {}

 private:
  uint64_t Incarnation() const { return 1000 + static_cast<uint64_t>(task_); }
  Bytes Incarnations() const {
    return service_.empty() ? Bytes() : Field(1, Fixed(2, Incarnation()) + Varint(3 << 3 | 1) + service_);
  }

  void Send(const std::string& method, const Bytes& request, std::function<void(grpc::Status, Bytes)> done) {
    connection_.Call("/xla.coordination.CoordinationService/" + method, Incarnations() + request, std::move(done));
  }
  void Call(const std::string& method, const Bytes& request, std::function<void(const Bytes&)> done) {
    Send(method, request, [this, method, done = std::move(done)](grpc::Status status, const Bytes& answer) {
      if (!status.ok()) return tally_->Failed(method + ": " + status.error_message());
      done(answer);
    });
  }
  // Sends a request that is answered at the end of the job.
  void Hold(const std::string& method, const Bytes& request) {
    Send(method, request, [this, method](grpc::Status status, const Bytes&) {
      tally_->Failed(method + " was answered: " + status.error_message());
    });
  }
  void Insert(const Bytes& key, const Bytes& value, std::function<void()> done) {
    Call("InsertKeyValue", Field(2, Field(1, key) + Field(2, value)), [done](const Bytes&) { done(); });
  }
  void Get(const Bytes& key, std::function<void(const Bytes&)> done) {
    Call("GetKeyValue", Field(2, key), std::move(done));
  }

  void Collect() {
    for (int task = 0; task < count_; ++task) {
      Get(LocalTopologyKey(task), [this](const Bytes&) {
        if (++collected_ != count_) return;
        const Bytes topology(kTopologyBytes * static_cast<size_t>(count_), 'x');
        Insert(kGlobalTopologyKey, topology, [this, topology] { Check(topology); });
      });
    }
  }
  void Check(const Bytes& topology) {
    if (topology.size() < kTopologyBytes * static_cast<size_t>(count_)) return tally_->Failed("a part of the topology");
    tally_->Formed();
  }

  Connection connection_;
  const int task_;
  const int count_;
  Tally* const tally_;
  Bytes service_;  // the service's incarnation, as on the wire
  std::atomic<int> collected_ = 0;
};

std::vector<std::string> Addresses(const std::string& target) {
  if (target[0] != '@') return {target};
  std::ifstream file(target.substr(1));
  std::vector<std::string> addresses;
  for (std::string line; std::getline(file, line);) addresses.push_back(line);
  return addresses;
}

}  // namespace

std::vector<std::unique_ptr<Node>> JaxNodes(const std::string& target, int count, Tally* tally) {
  const std::vector<std::string> addresses = Addresses(target);
  std::vector<std::unique_ptr<Node>> nodes;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const std::string& address = addresses[i * addresses.size() / static_cast<size_t>(count)];
    nodes.push_back(std::make_unique<JaxNode>(address, static_cast<int>(i), count, tally));
  }
  return nodes;
}

}  // namespace muster::bench
