// A quorum of torchft's lighthouse: each member asks for the quorum; the answer lists all members once the last has
// asked. The member's manager also sends Heartbeat calls.

#include "bench/peers/peer_node.h"
#include "bench/peers/wire.h"

namespace muster::bench {
namespace {

class TorchftNode : public Node {
 public:
  TorchftNode(const std::string& target, int number, int count, Tally* tally)
      : connection_(target), id_("replica_" + std::to_string(number)), count_(count), tally_(tally) {}

  void Join() override {
    // replica_id, address, store_address, world_size. The address is as long as the rest of an agent's own description.
    const Bytes member =
        Field(1, id_) + Field(2, Bytes(kNodeInfoBytes - 30, 'x')) + Field(3, "127.0.0.1:29500") + Field(5, 8);
    connection_.Call("/torchft.LighthouseService/Quorum", Field(1, member), [this](grpc::Status status, Bytes answer) {
      if (!status.ok()) return tally_->Failed("quorum: " + status.error_message());
      if (Members(answer) != count_) return tally_->Failed("a quorum of " + std::to_string(Members(answer)));
      tally_->Formed();
    });
  }

  void Beat() override {
    if (is_beating_.exchange(true)) return;
    const Clock::time_point sent = Clock::now();
    connection_.Call("/torchft.LighthouseService/Heartbeat", Field(1, id_), [this, sent](grpc::Status status, Bytes) {
      is_beating_ = false;
      if (!status.ok()) return tally_->Failed("heartbeat: " + status.error_message());
      tally_->Answered(sent);
    });
  }

  void Leave() override {}

 private:
  // The answer is one field, the quorum, with a key and a length as its header.
  static int Members(const Bytes& answer) {
    size_t at = 1;
    while (at < answer.size() && (answer[at] & 128) != 0) ++at;
    return answer.size() > at ? CountField(std::string_view(answer).substr(at + 1), 2) : 0;
  }

  Connection connection_;
  const std::string id_;
  const int count_;
  Tally* const tally_;
  std::atomic<bool> is_beating_ = false;
};

}  // namespace

std::vector<std::unique_ptr<Node>> TorchftNodes(const std::string& target, int count, Tally* tally) {
  std::vector<std::unique_ptr<Node>> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(std::make_unique<TorchftNode>(target, i, count, tally));
  return nodes;
}

}  // namespace muster::bench
